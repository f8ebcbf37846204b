"""`smelt ingest`: bring what has arrived into bronze and dead letters, once or on and on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.limits import limits_of
from smelter.cli.recover import Wishes, recover_files
from smelter.cli.session import Session, complete_dataset, counted, session_of
from smelter.contracts.faults import printable
from smelter.errors import WrongUsage

if TYPE_CHECKING:
    from smelter.bronze.batch import Report
    from smelter.bronze.stream import Hooks


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("ingest")(ingest)


def ingest(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)],
    drain: Annotated[bool, typer.Option("--drain", help="Take everything that has arrived, then stop.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until stopped (Ctrl-C or SIGTERM).")] = False,
    recover: Annotated[
        bool, typer.Option("--recover", help="Read all landing files again; write only records that are in no table.")
    ] = False,
    reread: Annotated[
        Path | None, typer.Option("--reread", metavar="FILE", help="Take a rewritten file whole, as a new source.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Recover only files that arrived from then on: 2h (ago), or ISO."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Recover only files that arrived before then.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what --recover would write; needs no lock, and stops nobody.")
    ] = False,
    interrupt: Annotated[
        bool,
        typer.Option(
            "--interrupt",
            help="Ask a running driver to stop after its batch, then recover. Starting it again is for whoever watches "
            "over the stream, or for smelt stream start.",
        ),
    ] = False,
    if_wanted: Annotated[
        bool,
        typer.Option("--if-wanted", help="With --drain: exit with 0 while somebody has stopped or paused the stream."),
    ] = False,
    wait: Annotated[
        float | None,
        typer.Option("--wait", min=0, metavar="SECONDS", help="How long --interrupt waits for its end: 120."),
    ] = None,
) -> None:
    """Put every record that has arrived into exactly one place, bronze or dead letters; safe to kill and to repeat.

    The first ingest makes the contract file the active contract. Dead letters are no failure: exit code 0.
    """
    if sum((drain, follow, recover, reread is not None)) != 1:
        raise WrongUsage(
            "say what to do: --drain, --follow, --recover or --reread FILE", next_step=f"smelt ingest {dataset} --drain"
        )
    session, wishes = session_of(context), Wishes(since, until, dry_run, interrupt, wait)
    if recover:
        recover_files(session, dataset, wishes)
        return
    if if_wanted and (said := _unwanted(session, dataset)):
        print(f"{dataset}: nothing was drained: the stream is {said}")
        return
    wishes.refuse_without_recover(dataset)
    if reread is not None:
        _reread(session, dataset, reread)
    else:
        _stream(session, dataset, follow=follow)


def _unwanted(session: Session, dataset: str) -> str:
    """Who wants the stream to rest or to stop, and why; nothing if nobody does."""
    from smelter.run_folders import stream_folder
    from smelter.supervise.requests import Wish, wanted

    session.contract(dataset)
    said = wanted(stream_folder(session.settings.lake, dataset))
    return "" if said.wish is Wish.RUN else str(said)


def _stream(session: Session, dataset: str, *, follow: bool) -> None:
    from smelter.bronze.stream import Pace, ingest

    settings, totals = session.settings, _Totals()
    pace = Pace(follow, settings.trigger_seconds, settings.max_files_per_batch, settings.max_bytes_per_batch)
    contract = session.contract(dataset)
    ingest(session.open_lake(), contract, limits_of(settings), pace, totals.hooks())
    totals.print_sum(dataset)


def _reread(session: Session, dataset: str, file: Path) -> None:
    from smelter.bronze.recovery import reread

    contract = session.contract(dataset)
    report = reread(session.open_lake(), contract, limits_of(session.settings), file)
    print(f"{printable(report.receipts[0].unit.source)}: {_counts(report.records, report.accepted, report.dead)}")


class _Totals:
    """Prints a line per batch and the sum at the end."""

    def __init__(self) -> None:
        self._files = self._records = self._accepted = self._dead = self._batches = 0

    def hooks(self) -> Hooks:
        from smelter.bronze.stream import Hooks

        return Hooks(report=self._print, say=lambda line: print(line, file=sys.stderr, flush=True))

    def _print(self, report: Report) -> None:
        self._batches += 1
        self._files += report.files
        self._records += report.records
        self._accepted += report.accepted
        self._dead += report.dead
        name = f"batch {report.batch}" if report.batch >= 0 else "finished an earlier batch"
        counts = _counts(report.records, report.accepted, report.dead)
        print(f"{name}: {counted(report.files, 'file')}, {counts}, {report.seconds:.1f} s", flush=True)

    def print_sum(self, dataset: str) -> None:
        if not self._batches:
            print(f"{dataset}: nothing new has arrived")
            return
        counts = _counts(self._records, self._accepted, self._dead)
        print(f"{dataset}: {counted(self._files, 'file')}, {counts}")


def _counts(records: int, accepted: int, dead: int) -> str:
    return f"{counted(records, 'record')}: {accepted:,} in bronze, {dead:,} in dead letters"
