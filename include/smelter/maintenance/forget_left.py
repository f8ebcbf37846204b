"""What still holds the values of a forgotten person, and when does it go? Told, and never touched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from pyiceberg.table import Table

from smelter.contracts import Contract
from smelter.contracts.times import seconds_of
from smelter.lake import layout
from smelter.lake.home import BRONZE, DEAD_LETTERS, GOLD, OPS, QUALITY, RESOLUTIONS, SILVER, Lake
from smelter.lake.sources import path_of
from smelter.lake.tables import find_table
from smelter.maintenance.forget import Forgotten
from smelter.maintenance.forget_behind import Name, gold_from
from smelter.maintenance.holds import expiry_of
from smelter.maintenance.subjects import subjects_of


@dataclass(frozen=True)
class StillThere:
    """One thing that holds values of the person."""

    what: str
    where: str
    goes: datetime | None  # nothing if nobody removes it but you
    why: str


def still_there(
    lake: Lake, done: Forgotten, behind: Sequence[Name], caught_up: Sequence[Name] = ()
) -> list[StillThere]:
    """Files, rows, snapshots and trash. `behind`: tables of silver and gold that have not followed, or would not;
    `caught_up`: those that have followed an earlier run only now.
    """
    names = dict.fromkeys((*_tables(lake, done), *caught_up))
    return [
        *_files(lake, done.contract, done.found.sources),
        *(_rows_of(*one, done.dataset) for one in behind),
        *_snapshots(lake, done, [one for one in names if one not in behind]),
        *_trash(lake, {".".join(one) for one in (*names, *behind)}),
    ]


def made_of_them(lake: Lake, done: Forgotten) -> list[Name]:
    """The tables of silver and gold that have rows of the person."""
    return [one for one in _tables(lake, done) if one[0] in (SILVER, GOLD)]


def _tables(lake: Lake, done: Forgotten) -> Iterator[Name]:
    """The tables that had rows of the person, and what is made from them."""
    found, dataset = done.found, done.dataset
    held = {
        (BRONZE, dataset): found.bronze,
        (DEAD_LETTERS, dataset): found.dead_letters or found.letters_emptied,
        (DEAD_LETTERS, RESOLUTIONS): found.resolutions or found.letters_emptied,
        (SILVER, dataset): found.silver,
    }
    yield from (name for name, rows in held.items() if rows)
    silver = find_table(lake, SILVER, dataset)
    if silver is not None and found.silver:
        yield from ((GOLD, name) for name, _snapshot in gold_from(lake, silver))
    if done.examples.rows:
        yield OPS, QUALITY


def _files(lake: Lake, contract: Contract, sources: Iterable[str]) -> Iterator[StillThere]:
    """Landing files are yours: whatever they hold, nobody here removes one."""
    landing, archive = lake.landing(contract), lake.archive(contract.dataset)
    why = f"stays until you remove it: source.after_commit is {contract.source.after_commit}"
    for source in sorted(sources):
        path = path_of(source)
        if path.exists():
            yield StillThere("landing file", str(path), None, why)
        inside = path.relative_to(landing) if path.is_relative_to(landing) else Path(path.name)
        reading = source.partition("#")[2]
        plain = archive / inside.with_name(inside.name + (f"#{reading}" if reading else ""))
        for kept in (plain, *sorted(plain.parent.glob(f"{_literal(plain.name)}.*"))):
            if kept.exists():
                yield StillThere("archived file", str(kept), None, "stays until you remove it: the archive is yours")


def _literal(name: str) -> str:
    """A name in which nothing is a pattern."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


def _rows_of(namespace: str, name: str, dataset: str) -> StillThere:
    why = f"until smelt {namespace} {dataset} has run"
    return StillThere("rows", f"{namespace}.{name}", None, why)


def _snapshots(lake: Lake, done: Forgotten, names: Iterable[Name]) -> Iterator[StillThere]:
    keep = done.contract.maintenance.snapshots
    goes = done.at + timedelta(seconds=seconds_of(keep))
    for namespace, name in names:
        table = find_table(lake, namespace, name)
        if table is not None:
            held = _held(lake, table, f"{namespace}.{name}", goes) if done.run is not None else ""
            why = held or f"maintenance.snapshots: {keep}; the first smelt maintain run after that removes them"
            yield StillThere("older snapshots", f"{namespace}.{name}", None if held else goes, why)


def _held(lake: Lake, table: Table, name: str, goes: datetime) -> str:
    """Why maintenance would keep them beyond their time: a tag is on one, or somebody has not read on."""
    (subject,) = subjects_of(lake, [name])
    holds = expiry_of(table.metadata, subject, goes + timedelta(minutes=1)).holds
    return "; ".join(f"{one.why}{f': {one.advice}' if one.advice else ''}" for one in holds)


def _trash(lake: Lake, tables: set[str]) -> Iterator[StillThere]:
    for place in sorted((lake.root / layout.TRASH).glob("*/manifest.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):  # being written, or not ours
            told = json.loads(place.read_text("utf-8"))
            count = sum(one["table"] in tables for one in told["files"])
            if count:
                goes = datetime.fromisoformat(told["emptied_after"])
                what = f"{count:,} {'file' if count == 1 else 'files'} in the trash"
                yield StillThere(
                    what, str(place.parent), goes, "may hold rows of the person; smelt maintain empties it"
                )
