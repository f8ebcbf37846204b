"""Views of `ops` that are kept as SQL: one statement per file, over every table that it is for.

A file says what it is `over`: the tables of a namespace, every table, the records of batches, or one table. Its body
is written out once for each of them, so a view holds datasets that came later, and is empty before the first.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from smelter.explore.catalog import TableName, Tables
from smelter.explore.quoting import qualified, quoted_name, quoted_text
from smelter.explore.sources import Sources
from smelter.explore.sql_files import SqlFile, flaw, sql_files
from smelter.lake.letter_status import DEAD_LETTERS, RESOLUTIONS

NAMESPACE = "ops"  # of the views
EVERY_TABLE, RECEIPTS = "tables", "receipts"
_KEYS = frozenset({"about", "over", "column", "once"})
_COLUMN = re.compile(r"(\w+) ([^:]+?): (.+)")
_PART = re.compile(r"^-- over: (\S+)$", re.MULTILINE)
_SLOT = re.compile(r"\{(\w+)\}")
_BRONZE = "bronze"
_SIBLINGS = {"bronze": _BRONZE, "silver": "silver", "letters": DEAD_LETTERS}
_RECORD = ".done.json"  # how the name of a batch's record ends; maintenance leaves the newest hundred
_CONTRACT = "smelter.contract"  # the property of a bronze table that keeps its contract
_NOT_THERE = """(
  select null::varchar as _source, null::bigint as _position, null::varchar as _batch, null::varchar as _contract,
    null::timestamptz as _arrived_at, null::timestamptz as _ingested_at, null::timestamptz as _merged_at
  where false
)"""
_FOREVER = "'infinity'::timestamptz"


@dataclass(frozen=True)
class Column:
    """A column of a saved view, as its file promises it."""

    name: str
    kind: str
    about: str


@dataclass(frozen=True)
class SavedView:
    """One file of `duckdb/views`."""

    name: TableName
    about: str
    columns: tuple[Column, ...]
    once: tuple[str, ...]  # rows that agree in these columns are one
    parts: tuple[tuple[str, str], ...]  # what a statement is over, and the statement


@dataclass(frozen=True)
class Subject:
    """What a view's statement can be written for: one table, or one folder of records of batches."""

    over: frozenset[str]  # what a view says that is for it
    slots: Mapping[str, str]  # what stands for `{name}` in the statement


class SavedViews:
    """The views of a folder, for one lake; at a moment of the past if there is one."""

    def __init__(self, folder: Path, receipts: Path, as_of: str | None = None) -> None:
        views = [_saved_view(file) for file in sql_files(folder, _KEYS)]
        self.views = sorted(views, key=lambda view: (not view.parts[0][0], view.name))  # those over other views last
        self._receipts = receipts
        self._as_of = as_of

    @property
    def names(self) -> list[TableName]:
        """What the views are called."""
        return [view.name for view in self.views]

    def about(self, name: TableName) -> str:
        """What a view shows, in a sentence."""
        return next(view.about for view in self.views if view.name == name)

    def over(self, tables: Iterable[TableName]) -> frozenset[object]:
        """Everything that the views are for; when it changes, they are to be written anew."""
        return frozenset({*tables, *self._folders(tables)})

    def statements(
        self, tables: Collection[TableName], catalog: Tables, sources: Sources
    ) -> Iterator[tuple[TableName, str]]:
        """The statement of each view, in an order in which they can be made; a table of its name goes before.

        A view that needs what the sources do not tell is left out.
        """
        event_times = {}
        for table in tables:
            if table.namespace == _BRONZE and (metadata := catalog.metadata(table)):
                event_times[table.name] = event_time_of(metadata.content)
        subjects = [subject_of(table, tables, event_times.get(table.name), sources) for table in sorted(tables)]
        subjects += [receipts_of(*folder) for folder in sorted(self._folders(tables))]
        for view in self.views:
            is_told = not any("{facts}" in body for _, body in view.parts) or all(map(sources.facts, tables))
            if view.name not in tables and is_told:
                yield view.name, statement_of(view, subjects, self._as_of)

    def _folders(self, tables: Iterable[TableName]) -> set[tuple[str, str, Path]]:
        """The folders that have records of batches, by dataset and place."""
        datasets = [table.name for table in tables if table.namespace == _BRONZE]
        places = ((name, "stream", self._receipts / name) for name in datasets)
        letters = ((name, DEAD_LETTERS, self._receipts / name / DEAD_LETTERS) for name in datasets)
        return {(name, place, folder) for name, place, folder in (*places, *letters) if _has_records(folder)}


def _saved_view(file: SqlFile) -> SavedView:
    columns = []
    for text in file.header.get("column", ()):
        found = _COLUMN.fullmatch(text)
        if found is None:
            raise flaw(file.path, f"`-- column: {text}` must be `-- column: NAME TYPE: what it is`")
        columns.append(Column(*found.groups()))
    if not columns:
        raise flaw(file.path, "the header has no `-- column: …`")
    once = tuple(word.strip() for word in file.one("once").split(",") if word.strip())
    name = TableName(NAMESPACE, file.name)
    first, *others = _PART.split(file.body)  # statement, then what the next one is over, and so on
    parts = ((file.one("over"), first), *zip(others[::2], others[1::2], strict=True))
    return SavedView(name, file.needed("about"), tuple(columns), once, parts)


def subject_of(table: TableName, known: Collection[TableName], event_time: str | None, sources: Sources) -> Subject:
    """A table with the tables of the same dataset beside it; one that is not there yet has no rows."""
    slots = {
        "table": quoted_text(str(table)),
        "namespace": quoted_text(table.namespace),
        "dataset": quoted_text(table.name),
        "rows": _view(table),
        "address": quoted_text(sources.address(table)),
    }
    for slot, namespace in _SIBLINGS.items():
        sibling = TableName(namespace, table.name)
        slots[slot] = _view(sibling) if sibling in known else _NOT_THERE
    facts = sources.facts(table)
    if facts:
        slots["facts"] = quoted_text(facts)
    if event_time:
        slots["event_time"] = quoted_name(event_time)
    over = {EVERY_TABLE, str(table)}
    if (table.namespace, table.name) != (DEAD_LETTERS, RESOLUTIONS):
        over.add(table.namespace)
    return Subject(frozenset(over), slots)


def receipts_of(dataset: str, place: str, folder: Path) -> Subject:
    """The records of batches that a dataset has in one folder."""
    slots = {"dataset": quoted_text(dataset), "place": quoted_text(place), "files": quoted_text(f"{folder}/*{_RECORD}")}
    return Subject(frozenset({RECEIPTS}), slots)


def statement_of(view: SavedView, subjects: Sequence[Subject], as_of: str | None) -> str:
    """The statement of a view over all its subjects; with none, it has its columns and no rows."""
    nothing = ", ".join(f"null::{column.kind} as {quoted_name(column.name)}" for column in view.columns)
    parts = [f"select {nothing} where false"]
    moment = _FOREVER if as_of is None else f"{quoted_text(as_of)}::timestamptz"
    for over, body in view.parts:
        wanted = [subject.slots for subject in subjects if over in subject.over] if over else [{}]
        written = (_written(body, {**slots, "as_of": moment}) for slots in wanted)
        parts += [text for text in written if text is not None]
    names = ", ".join(quoted_name(column.name) for column in view.columns)
    distinct = f"distinct on ({', '.join(map(quoted_name, view.once))}) " if view.once else ""
    union = "\nunion all by name\n".join(f"({part}\n)" for part in parts)
    return f"select {distinct}{names} from (\n{union}\n)"  # noqa: S608 (a file of SQL is SQL)


def _written(body: str, slots: Mapping[str, str]) -> str | None:
    """The statement for one subject; nothing if it asks for what the subject has not."""
    if any(slot not in slots for slot in _SLOT.findall(body)):
        return None
    return _SLOT.sub(lambda found: slots[found[1]], body)


def event_time_of(metadata: bytes) -> str | None:
    """The column that says when a row's event was, by the contract that is kept with the dataset's bronze table."""
    try:
        contract = json.loads(json.loads(metadata)["properties"][_CONTRACT])
        return str(contract["silver"]["event_time"])
    except (ValueError, KeyError, TypeError):
        return None


def _view(table: TableName) -> str:
    return f"memory.{qualified(table)}"


def _has_records(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith(_RECORD) for entry in entries)
    except OSError:
        return False
