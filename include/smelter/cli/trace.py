"""`smelt trace`: where one record is, and how it got there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.moments import moment
from smelter.cli.session import complete_dataset, plain_values, print_json, session_of
from smelter.contracts.faults import printable
from smelter.errors import Refused, WrongUsage

if TYPE_CHECKING:
    from smelter.lake.home import Lake
    from smelter.ledger.trace import Trace

_MOST = 10
_SHOWN_TEXT = 400


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("trace")(trace)


def trace(
    context: typer.Context,
    record: Annotated[
        str | None, typer.Argument(metavar="FILE:POSITION", help="A file and the record's number in it, from 0.")
    ] = None,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="A condition on rows, such as \"event_id = '…'\".")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", metavar="DATASET", autocompletion=complete_dataset)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell where a record is and how it got there: file, batch, snapshot, contract, verdict. Exit 1 if nowhere."""
    if (record is None) == (where is None):
        raise WrongUsage("say which record: FILE:POSITION, or --where", next_step="smelt trace --help")
    session = session_of(context)
    lake, names = session.open_lake(), session.ingested(dataset, at_least_one=True)
    found = _by_place(lake, record, names) if record is not None else _by_condition(lake, where or "", names)
    if as_json:
        print_json([plain_values(asdict(one)) for one in found])
    else:
        for one in found:
            _print(one)
    raise typer.Exit(0 if any(one.places or one.left for one in found) else 1)


def _by_place(lake: Lake, record: str, names: list[str]) -> list[Trace]:
    from smelter.lake.sources import path_of
    from smelter.ledger.trace import datasets_of, trace

    file, colon, number = record.rpartition(":")
    if not colon or not (number.isascii() and number.isdecimal()):
        raise WrongUsage(f"`{printable(record)}` is not FILE:POSITION", next_step="smelt trace landing/a.json:0")
    path = path_of(file) if file.startswith("file://") else _found(lake, Path(file))
    readings = [
        (name, source) for name in datasets_of(lake, names, path) for source in _readings(lake, name, file, path)
    ]
    found = [trace(lake, name, source, int(number)) for name, source in readings]
    return [one for one in found if one.places or one.left] or found[:1]


def _readings(lake: Lake, dataset: str, file: str, path: Path) -> list[str]:
    from smelter.ledger.trace import readings_of

    return [file] if file.startswith("file://") and "#" in file else readings_of(lake, dataset, path)


def _found(lake: Lake, path: Path) -> Path:
    """A path from where the command runs, or from the lake."""
    here = path.resolve()
    return here if here.exists() or path.is_absolute() else (lake.root / path).resolve()


def _by_condition(lake: Lake, condition: str, names: list[str]) -> list[Trace]:
    from smelter.explore import connect
    from smelter.ledger.trace import trace

    found: list[Trace] = []
    problem: Refused | None = None
    failed = 0
    with connect(lake.root) as explorer:
        for name in names:
            for namespace in ("bronze", "dead_letters"):
                query = f'select _source, _position from {namespace}."{name}" where ({condition}\n) limit {_MOST + 1}'  # noqa: S608
                try:
                    rows = explorer.execute(query).fetchall()
                except Refused as refusal:  # a column of bronze is not one of dead letters
                    problem, failed = problem or refusal, failed + 1
                    continue
                found += [trace(lake, name, source, position) for source, position in rows]
    if not found and problem is not None and failed == 2 * len(names):
        raise problem
    if not found:
        raise Refused("no row is so", where=condition, data="nothing was changed", next_step="ask another way")
    return found[:_MOST]


def _print(found: Trace) -> None:
    print(f"{printable(found.source)}:{found.position}  {found.found}")
    if found.arrived_at is not None:
        print(f"  arrived     {moment(found.arrived_at)}, one of {found.records_in_source:,} records in its file")
    if found.batch:
        print(f"  batch       {found.batch} ({found.batch_state})")
    for place in found.places:
        snapshot = place.snapshot if place.snapshot is not None else "expired since"
        how = f"ingested {moment(place.ingested_at)} under {place.contract}, snapshot {snapshot}"
        print(f"  in          {place.table}, {how}")
        for error in place.row.get("errors") or ():
            print(f"  because     {printable(error['message'])}")
    for event in found.history:
        why = f": {printable(event.because)}" if event.because else ""
        print(f"  then        {event.outcome} {moment(event.at)} by {printable(event.who)}, {event.run}{why}")
    if found.text is not None:
        text = found.text if len(found.text) <= _SHOWN_TEXT else found.text[: _SHOWN_TEXT - 1] + "…"
        print(f"  text        {printable(text)}")
