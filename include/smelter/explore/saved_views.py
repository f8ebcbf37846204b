"""Views of `ops` that are kept as SQL: one statement per file, over every table that it is for.

A file says what it is `over`: the tables of a namespace, every table, the records of batches, or one table. Its body
is written out once for each of them, so a view holds datasets that came later, and is empty before the first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import SmelterError
from smelter.explore.catalog import TableName, Tables
from smelter.explore.quoting import quoted_name, quoted_text
from smelter.explore.sources import Sources
from smelter.explore.sql_files import SqlFile, flaw, read_sql_file, sql_paths
from smelter.explore.subjects import Subject, folders_of, subjects_of

NAMESPACE = "ops"  # of the views
_KEYS = frozenset({"about", "over", "column", "once"})
_COLUMN = re.compile(r"(\w+) ([^:]+?): (.+)")
_PART = re.compile(r"^-- over: (\S+)$", re.MULTILINE)
_SLOT = re.compile(r"\{(\w+)\}")
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


class SavedViews:
    """The views of a folder, for one lake; at a moment of the past if there is one."""

    def __init__(self, folder: Path, receipts: Path, as_of: str | None = None) -> None:
        views, self.flaws = _views_of(folder)
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
        return frozenset({*tables, *folders_of(tables, self._receipts)})

    def statements(
        self, tables: Collection[TableName], catalog: Tables, sources: Sources
    ) -> Iterator[tuple[TableName, str]]:
        """The statement of each view, in an order in which they can be made; a table of its name goes before.

        A view that needs what the sources do not tell is left out, and with it those that ask it.
        """
        subjects = subjects_of(tables, catalog, sources, self._receipts)
        left_out: set[TableName] = set()
        for view in self.views:
            if view.name in tables:
                continue
            text = "".join(body for _, body in view.parts)
            is_told = "{facts}" not in text or all(map(sources.facts, tables))
            if is_told and not any(str(name) in text for name in left_out):
                yield view.name, statement_of(view, subjects, self._as_of)
            else:
                left_out.add(view.name)


def _views_of(folder: Path) -> tuple[list[SavedView], dict[TableName, str]]:
    """The views; and why a file is none: one's own mistake must not take the lake's tables away."""
    views, flaws = [], {}
    for path in sql_paths(folder):
        try:
            views.append(_saved_view(read_sql_file(path, _KEYS)))
        except SmelterError as problem:
            flaws[TableName(NAMESPACE, path.stem)] = f"{problem.what} ({path})"
    return views, flaws


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
