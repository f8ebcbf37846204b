"""What a saved view can be written for: each table, and each folder of records of batches."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smelter.contracts.fit import PLATFORM_COLUMNS
from smelter.errors import SmelterError
from smelter.explore.catalog import UNREADABLE, TableName, Tables
from smelter.explore.quoting import in_pattern, qualified, quoted_name, quoted_text
from smelter.explore.sources import Sources
from smelter.lake.letter_status import DEAD_LETTERS, LETTER_COLUMNS

EVERY_TABLE, RECEIPTS = "tables", "receipts"
_BRONZE, _SILVER = "bronze", "silver"
# A table of another shape is somebody else's: it is among all tables, and no dataset's.
_SHAPES: dict[str, frozenset[str]] = {
    _BRONZE: frozenset(PLATFORM_COLUMNS),
    _SILVER: frozenset({*PLATFORM_COLUMNS, "_merged_at"}),
    DEAD_LETTERS: LETTER_COLUMNS,
}
_SIBLINGS = {"bronze": _BRONZE, "silver": _SILVER, "letters": DEAD_LETTERS}
_RECORD = ".done.json"  # how the name of a batch's record ends; maintenance leaves the newest hundred
_CONTRACT = "smelter.contract"  # the property of a bronze table that keeps its contract
_NOT_THERE = """(
  select null::varchar as _source, null::bigint as _position, null::varchar as _batch, null::varchar as _contract,
    null::timestamptz as _arrived_at, null::timestamptz as _ingested_at, null::timestamptz as _merged_at
  where false
)"""


@dataclass(frozen=True)
class Subject:
    """One table, or one folder of records of batches."""

    over: frozenset[str]  # what a view says that is for it
    slots: Mapping[str, str]  # what stands for `{name}` in its statement


def subjects_of(tables: Collection[TableName], catalog: Tables, sources: Sources, receipts: Path) -> list[Subject]:
    """A subject for each table and each folder; of those that are not there yet, siblings have no rows."""
    metadata = {table: _metadata(catalog, table) for table in tables if table.namespace in _SHAPES}
    ours = {table for table, facts in metadata.items() if _SHAPES[table.namespace] <= columns_of(facts)}
    found = []
    for table in sorted(tables):
        slots = _slots(table, ours, sources)
        event_time = _event_time(metadata.get(TableName(_BRONZE, table.name), {}))
        if event_time in columns_of(metadata.get(table, {})):
            slots["event_time"] = quoted_name(event_time)
        over = {EVERY_TABLE, str(table)}
        if table in ours or table.namespace not in _SHAPES:
            over.add(table.namespace)
        found.append(Subject(frozenset(over), slots))
    return [*found, *(_of_folder(*folder) for folder in sorted(folders_of(tables, receipts)))]


def folders_of(tables: Iterable[TableName], receipts: Path) -> set[tuple[str, str, Path]]:
    """The folders that have records of batches, by dataset and place."""
    datasets = [table.name for table in tables if table.namespace == _BRONZE]
    places = ((name, "stream", receipts / name) for name in datasets)
    letters = ((name, DEAD_LETTERS, receipts / name / DEAD_LETTERS) for name in datasets)
    return {(name, place, folder) for name, place, folder in (*places, *letters) if _has_records(folder)}


def columns_of(facts: Mapping[str, Any]) -> frozenset[str]:
    """The names of a table's columns now, by its metadata."""
    shapes = [one for one in facts.get("schemas", []) if one["schema-id"] == facts["current-schema-id"]]
    return frozenset(str(field["name"]) for one in shapes for field in one["fields"])


def _slots(table: TableName, ours: Collection[TableName], sources: Sources) -> dict[str, str]:
    slots = {
        "table": quoted_text(str(table)),
        "namespace": quoted_text(table.namespace),
        "dataset": quoted_text(table.name),
        "rows": _view(table),
        "address": quoted_text(sources.address(table)),
    }
    for slot, namespace in _SIBLINGS.items():
        sibling = TableName(namespace, table.name)
        slots[slot] = _view(sibling) if sibling in ours else _NOT_THERE
    facts = sources.facts(table)
    return slots | ({"facts": quoted_text(facts)} if facts else {})


def _of_folder(dataset: str, place: str, folder: Path) -> Subject:
    pattern = f"{in_pattern(str(folder))}/*{_RECORD}"
    slots = {"dataset": quoted_text(dataset), "place": quoted_text(place), "files": quoted_text(pattern)}
    return Subject(frozenset({RECEIPTS}), slots)


def _metadata(catalog: Tables, table: TableName) -> dict[str, Any]:
    """What is known of a table; nothing of one that cannot be read, which is said elsewhere."""
    try:
        found = catalog.metadata(table)
        facts: dict[str, Any] = json.loads(found.content) if found else {}
        columns_of(facts)
    except (*UNREADABLE, SmelterError):
        return {}
    return facts


def _event_time(bronze: Mapping[str, Any]) -> str:
    """The column that says when a row's event was, by the contract that is kept with the dataset's bronze table."""
    try:
        return str(json.loads(bronze["properties"][_CONTRACT])["silver"]["event_time"])
    except (ValueError, KeyError, TypeError):
        return ""


def _has_records(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith(_RECORD) for entry in entries)
    except OSError:
        return False


def _view(table: TableName) -> str:
    return f"memory.{qualified(table)}"
