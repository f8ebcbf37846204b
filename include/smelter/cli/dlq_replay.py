"""`smelt dlq replay` and `undo`: letters that are good now go home to bronze, and a run can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.building import build_again
from smelter.cli.dlq_options import WAIT_SECONDS, AsJson, Because, Chosen, Dataset, Wait, choosing, telling
from smelter.cli.dlq_plan import show_plan
from smelter.cli.limits import limits_of
from smelter.cli.session import IfThere, counted, print_json, print_nothing, session_of
from smelter.contracts.faults import printable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from smelter.dead_letters.replay import ReplayReport
    from smelter.dead_letters.undo import Undone
    from smelter.lake.home import Lake


def register(letters: typer.Typer) -> None:
    """Add the commands to `smelt dlq`."""
    letters.command("replay")(choosing(replay))
    letters.command("undo")(undo)


def replay(
    context: typer.Context,
    dataset: Dataset,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen: smelt dlq plan.")] = False,
    auto: Annotated[
        bool,
        typer.Option(
            "--auto", help="If the contract says auto_replay: what passes now; letters that fail get no attempt."
        ),
    ] = False,
    wait: Wait = WAIT_SECONDS,
    if_there: IfThere = False,
    as_json: AsJson = False,
    *,
    chosen: Chosen,
) -> None:
    """Judge open letters once more under the active contract; the good ones go to bronze, the others stay open.

    Works while the stream runs. Safe to kill and to repeat: an interrupted run is finished first.
    """
    session = session_of(context)
    filters = chosen.filters()
    if if_there and (nothing := session.nothing_yet(dataset)):
        print_nothing(dataset, nothing, as_json=as_json)
        return
    (name,) = session.ingested(dataset)
    if dry_run:
        show_plan(session, name, filters, chosen, as_json=as_json)
        return
    from smelter.dead_letters.replay import Wishes, worth_a_try
    from smelter.dead_letters.replay import replay as replay_letters

    lake = session.open_lake()
    if auto:
        filters, why = worth_a_try(lake, name, filters)
        if why:
            print_nothing(name, why, as_json=as_json)
            return
    wishes = Wishes(wait, only_passing=auto)
    with _spark_if_submitted(lake, name) as spark:
        report = replay_letters(lake, name, filters, limits_of(session.settings), wishes, telling(), spark)
    print_json(_as_dict(report)) if as_json else _print(report)


@contextmanager
def _spark_if_submitted(lake: Lake, dataset: str) -> Iterator[SparkSession | None]:
    """Under spark-submit, letters are judged by tasks of Spark; otherwise a JVM is not worth its start."""
    from smelter.lake.session import is_submitted, start_spark

    if not is_submitted():
        yield None
        return
    session = start_spark(lake, f"replay {dataset}", lake.job_folder("dead_letters", dataset), builds=True)
    try:
        yield session
    finally:
        session.stop()


def _as_dict(report: ReplayReport) -> dict[str, Any]:
    return {
        "dataset": report.dataset,
        "contract": report.contract,
        "run": report.run,
        "recovered": report.recovered,
        "still_open": report.still_open,
        "recovered_by_reason": report.passed,
        "still_open_by_reason": report.failed,
        "files": [asdict(one) for one in report.files],
    }


def _print(report: ReplayReport) -> None:
    for file in report.files:
        brought = f"{counted(file.rows, 'row')} and {counted(file.new_letters, 'new letter')} from it"
        print(f"  file {printable(file.source)}: {file.problem or brought}")
    if not report.recovered and not report.still_open and not report.files:
        print(f"{report.dataset}: no open letter is meant; nothing was changed")
        print(f"next: smelt dlq ls {report.dataset} --status all")
        return
    print(
        f"{report.dataset}: {counted(report.recovered, 'letter')} went to bronze under {report.contract}, "
        f"{report.still_open:,} failed again and stay open"
    )
    for reason, count in report.failed.items():
        print(f"  ✗ {count:,} {reason}")
    if report.run is not None:
        print(f"run: {report.run}")
    if report.recovered:
        print(f"next: smelt silver {report.dataset} takes them up; smelt dlq undo {report.run} takes this back")
    else:
        print(f"next: smelt dlq plan {report.dataset}")


def undo(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="As replay, edit and discard print it, and dlq runs lists.")
    ],
    because: Because = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be taken back.")] = False,
    build: Annotated[
        bool, typer.Option("--build/--no-build", help="Bring silver and gold up to date afterwards.")
    ] = True,
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Take a run back: its rows leave bronze, its letters are open again, then silver and gold follow.

    A key of silver that loses its row gets the next record of bronze that has it. Safe to kill and to repeat.
    """
    from smelter.dead_letters.undo import undo as undo_run
    from smelter.dead_letters.undo import what_would_be_undone

    session = session_of(context)
    lake = session.open_lake()
    if dry_run:
        found = what_would_be_undone(lake, run)
        if as_json:
            print_json(asdict(found))
        else:
            print(f"{found.run} ({found.dataset}): {counted(found.closed, 'letter')} would be open again")
            print(f"next: smelt dlq undo {found.run}")
        return
    done = undo_run(lake, run, limits_of(session.settings), because, telling(), wait)
    if as_json:
        print_json(asdict(done))
    else:
        print(f"{done.dataset}: {done.run} is undone by {done.by}; {counted(done.letters, 'letter')} open again")
    if done.has_left_bronze and build:
        build_again(session, done.dataset, wait, as_json=as_json)
    if not as_json:
        left = done.has_left_bronze and not build
        print(f"next: smelt silver {done.dataset}, then smelt gold {done.dataset}" if left else f"next: {_ls(done)}")


def _ls(done: Undone) -> str:
    return f"smelt dlq ls {done.dataset}"
