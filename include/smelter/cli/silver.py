"""`smelt silver`: each thing once, judged, in one commit per slice of bronze."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.session import IfThere, complete_dataset, counted, print_json, print_nothing, session_of
from smelter.errors import WrongUsage

if TYPE_CHECKING:
    from smelter.silver.report import SilverReport, Taken

WAIT_SECONDS = 60.0


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("silver")(silver)


def silver(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build all of it anew from bronze, in one commit; after a changed key.")
    ] = False,
    publish_anyway: Annotated[
        str | None,
        typer.Option("--publish-anyway", metavar="REASON", help="Publish also if a check says stop; recorded."),
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for another who changes it.")
    ] = WAIT_SECONDS,
    if_there: IfThere = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Bring silver up to date with bronze: one row per key, checked before it is published; safe to kill and to repeat.

    Reads only what came into bronze since the last run. Exit code 1 if a check of the contract says stop: then
    nothing was published.
    """
    from smelter.silver.build import Hooks, Wishes, build_silver

    if publish_anyway is not None and not publish_anyway.strip():
        raise WrongUsage("--publish-anyway wants a reason: it is recorded", next_step='--publish-anyway "REASON"')
    session = session_of(context)
    if if_there and (nothing := session.nothing_yet(dataset)):
        print_nothing(dataset, nothing, as_json=as_json)
        return
    session.ingested(dataset)
    wishes = Wishes(rebuild, publish_anyway or "", wait, session.settings.max_rows_per_slice)
    hooks = Hooks(
        taken=lambda one: None if as_json else _print_taken(one),
        say=lambda line: print(line, file=sys.stderr, flush=True),
    )
    report = build_silver(session.open_lake(), dataset, wishes, hooks)
    print_json(as_dict(report)) if as_json else _print(report)


def as_dict(report: SilverReport) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "dataset": report.dataset,
        "contract": report.contract,
        "read": report.total("read"),
        "things": report.total("things"),
        "added": report.total("added"),
        "rows": report.rows,
        "rebuilt": report.is_rebuild,
        "began_anew": report.began_anew or None,
        "columns_changed": report.columns_changed,
        "published_anyway": report.published_anyway or None,
        "failed_casts": report.failed_casts,
        "slices": [
            {
                "read": one.read,
                "things": one.things,
                "added": one.added,
                "seconds": round(one.seconds, 3),
                "checks": [asdict(result) for result in one.verdict.results],
            }
            for one in report.taken
        ],
    }


def _print_taken(one: Taken) -> None:
    print(
        f"slice {one.number} of {one.of}: {counted(one.read, 'row')} of bronze, {counted(one.things, 'thing')}, "
        f"{one.added:,} new, {one.seconds:.1f} s",
        flush=True,
    )
    for result in one.verdict.results:
        if not result.ok:
            print(f"  {result.on_failure}: {result.sentence}", flush=True)


def _print(report: SilverReport) -> None:
    name, read, rows = f"silver.{report.dataset}", counted(report.total("read"), "row"), counted(report.rows, "row")
    if report.columns_changed:
        print(f"{name} has the columns of {report.contract} now")
    if report.published_anyway:
        print(f"  published in spite of the checks, and recorded in ops.quality: {report.published_anyway}")
    for column, failed in report.failed_casts.items():
        print(f"  {column}: {counted(failed, 'value')} could not be read, and {'is' if failed == 1 else 'are'} null")
    if not report.taken:
        print(f"{name}: nothing new in bronze; {rows}")
    elif report.is_rebuild:
        print(f"{name}: built anew from {read} of bronze; {rows}")
    else:
        print(f"{name}: {report.total('added'):,} new of {read} of bronze; {rows}")
