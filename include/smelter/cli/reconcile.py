"""`smelt reconcile`: the proof. Counts the sources again and names every record that is not in exactly one place."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.session import IfThere, complete_dataset, counted, print_json, session_of
from smelter.contracts.faults import printable

if TYPE_CHECKING:
    from smelter.ledger.findings import Reconciliation

_MOST_SHOWN = 100
_NOTES = {
    "waiting": "waiting to be read",
    "empty": "empty",
    "rewritten": "written again after being read; smelt ingest DATASET --reread FILE takes the new content",
    "unfinished": "unfinished by name, and left alone",
    "unnameable": "with a name that is not UTF-8, which Spark cannot see: rename it",
    "linked": "a link to another folder, which is not followed",
}


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("reconcile")(reconcile)


def reconcile(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)] = None,
    if_there: IfThere = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; it holds every finding.")] = False,
) -> None:
    """Prove that every record is in exactly one place: recount the sources and compare; exit 1 if anything is amiss."""
    from smelter.ledger.reconcile import reconcile as reconcile_dataset

    session = session_of(context)
    if if_there and (nothing := session.nothing_yet(dataset)):
        print_json([]) if as_json else print(nothing)
        return
    found = [reconcile_dataset(session.open_lake(), name) for name in session.ingested(dataset, at_least_one=True)]
    if as_json:
        print_json([{**asdict(one), "is_balanced": one.is_balanced} for one in found])
    else:
        for one in found:
            _print(one)
    raise typer.Exit(0 if all(one.is_balanced for one in found) else 1)


def _print(found: Reconciliation) -> None:
    forgotten = f" + {found.forgotten:,} forgotten" if found.forgotten else ""
    held = f"{found.bronze:,} in bronze + {found.dead_letters:,} in dead letters{forgotten}"
    held_by = f"{counted(found.records, 'record')} in {counted(found.sources, 'source')}"
    if found.is_balanced:
        print(f"✓ {found.dataset}: {held_by} = {held}: each in exactly one place")
    else:
        print(f"✗ {found.dataset}: {held_by}, {held}: {counted(len(found.problems), 'finding')}")
    if found.went_home or found.discarded:
        print(f"  {found.went_home:,} of bronze were dead letters once; {found.discarded:,} letters are discarded")
    for why, count in found.by_receipt.items():
        print(f"  {counted(count, 'source')} by receipt only: {why}")
    if found.prepared:
        print(f"  {found.prepared} prepared and not yet committed; the next start of the stream finishes it")
    for name, words in _NOTES.items():
        sources = getattr(found, name)
        if sources:
            print(f"  {counted(len(sources), 'file')} {words}")
            for source in sources[:3] if name == "waiting" else sources[:20]:
                print(f"    {printable(source)}")
    for problem in found.problems[:_MOST_SHOWN]:
        place = printable(problem.source) + ("" if problem.position is None else f":{problem.position}")
        batch = f"  batch {problem.batch}" if problem.batch else ""
        note = f"  ({printable(problem.note)})" if problem.note else ""
        print(f"  {problem.kind.value}  {place}{batch}{note}")
    if len(found.problems) > _MOST_SHOWN:
        print(f"  … {len(found.problems) - _MOST_SHOWN:,} more; --json names all", file=sys.stderr)
