"""The room's one door: open a lake, ask, close."""

from __future__ import annotations

import json
import re
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from smelter.catalog_address import CatalogAddress
from smelter.errors import Refused, SmelterError
from smelter.explore.answer import Answer
from smelter.explore.catalog import UNREADABLE, TableName, Tables
from smelter.explore.connection import open_duckdb
from smelter.explore.problems import as_smelter_error
from smelter.explore.safety import is_query, refuse_unless_query
from smelter.explore.saved_views import NAMESPACE
from smelter.explore.service import address_of, serve
from smelter.explore.views import LIST_OF_TABLES, Views
from smelter.settings import Settings, load_settings

Parameters = Sequence[Any] | Mapping[str, Any]
# DuckDB would list its main schema, which is empty.
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_MAY_ASK_SAVED = re.compile(rf"\b{NAMESPACE}\b|\bshow\b|duckdb_|information_schema", re.IGNORECASE)


def connect(
    lake: Path | str | None = None,
    unsafe: bool = False,
    *,
    catalog: CatalogAddress | str | None = None,
    at: str | int | datetime | None = None,
) -> Explorer:
    """Open a lake for questions; a lake without tables, or without a catalog yet, is open all the same.

    Without `lake` it is the one that the settings name, as for `smelt`. `catalog` is the address of its PostgreSQL
    catalog; if it is not given, the lake's settings tell. `at` is a moment of the past (a time, or `2h` ago) or the
    number of a snapshot; without it each question sees the newest snapshots.
    """
    settings = load_settings(None if lake is None else Path(lake)).values
    if catalog is not None:
        settings = settings.model_copy(update={"catalog": address_of(catalog)})
    return open_explorer(settings, unsafe=unsafe, at=at)


def open_explorer(settings: Settings, *, unsafe: bool = False, at: str | int | datetime | None = None) -> Explorer:
    """Open the lake of the settings."""
    with ExitStack() as opened:
        served = opened.enter_context(serve(settings, at))
        folder = tempfile.TemporaryDirectory(prefix="smelter-explore-", ignore_cleanup_errors=True)
        workspace = opened.enter_context(folder)
        connection = open_duckdb(Path(workspace), settings.lake, served.facade, unsafe=unsafe)
        opened.callback(connection.close)
        views = Views(connection, served.catalog, served.saved)
        views.refresh(saved=False)
        return Explorer(connection, served.catalog, views, opened.pop_all(), unsafe=unsafe)


class Explorer:
    """A lake that is open for questions. Threads may share it. It closes itself when it is forgotten."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        catalog: Tables,
        views: Views,
        opened: ExitStack,
        *,
        unsafe: bool,
    ) -> None:
        self.catalog = catalog  # as it is seen here: the newest, or that of a moment
        self._connection = connection
        self._views = views
        self._unsafe = unsafe
        self._asked: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        opened.callback(_interrupt, self._asked)
        self._finish = weakref.finalize(self, opened.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def tables(self) -> list[TableName]:
        """The tables that can be asked, as of the last question."""
        return sorted(self._views.made)

    def execute(
        self, sql: str, parameters: Parameters | None = None, *, as_text: frozenset[str] = frozenset()
    ) -> Answer:
        """Ask one question of the newest snapshots of the tables that are there now.

        Each question has a DuckDB connection of its own, so that threads do not take each other's answers. `as_text`:
        columns of these types come as DuckDB's texts, because whoever asks has no words for their values.
        """
        may_ask_saved = _MAY_ASK_SAVED.search(sql) is not None
        self._refresh(saved=may_ask_saved)
        with self._told(self._connection):
            cursor = self._connection.cursor()
        self._asked.add(cursor)
        with self._told(cursor):
            if not self._unsafe:
                refuse_unless_query(cursor, sql, self._views.known)
            can_be_repeated = not self._unsafe or is_query(cursor, sql)
            sql = LIST_OF_TABLES if _SHOW_TABLES.fullmatch(sql) else sql
            try:
                cursor.execute(sql, parameters)
            except duckdb.BinderException:
                if not (may_ask_saved and can_be_repeated):
                    raise
                self._views.write_anew()
                cursor.execute(sql, parameters)
            answer = Answer(cursor, self._told)
            if can_be_repeated and not as_text.isdisjoint(answer.types):
                cursor.execute(_with_texts(sql, answer.types, as_text), parameters)
            return answer

    def refresh(self) -> None:
        """Make views of tables that are new, and drop those of tables that are gone; every question begins so."""
        self._refresh(saved=True)

    def _refresh(self, *, saved: bool) -> None:
        if not self._finish.alive:
            raise _closed()
        with self._told(self._connection):
            self._views.refresh(saved=saved)

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """One question as DuckDB's own relation, which a notebook shows as a table: `.df()`, `.arrow()`, `.filter(…)`.

        It asks when it is looked at, and sees the newest snapshots of then.
        """
        cursor = self.connection()
        with self._told(cursor):
            if not self._unsafe:
                refuse_unless_query(cursor, query, self._views.known)
            relation = cursor.sql(query)
        self._stay_for(relation)
        return relation

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection of one's own, with every view that there is now; it ends with the explorer.

        It is locked as everything here is, but for one thing: it could write into the folder of the tables, and so
        could what `sql` returns (`.write_parquet(…)`).
        """
        self.refresh()
        with self._told(self._connection):
            cursor = self._connection.cursor()
        self._asked.add(cursor)
        self._stay_for(cursor)
        return cursor

    def _stay_for(self, given: object) -> None:
        """What was given away keeps the lake open, so that `connect().sql(…).show()` has something to show."""
        weakref.finalize(given, _let_go, self).atexit = False

    @property
    def troubles(self) -> list[str]:
        """A sentence for each table that cannot be opened."""
        return list(self._views.broken.values())

    @property
    def unopened(self) -> dict[TableName, str]:
        """The same by table; those of the catalog only, and not the views over them."""
        there = set(self.catalog.tables())
        return {table: sentence for table, sentence in self._views.broken.items() if table in there}

    def has_any_snapshot(self) -> bool:
        """Has any table had rows yet, now or at the moment that is seen here?"""
        return any(map(self._has_snapshot, self.tables))

    def _has_snapshot(self, table: TableName) -> bool:
        try:
            metadata = self.catalog.metadata(table)
            return metadata is not None and json.loads(metadata.content).get("current-snapshot-id", -1) != -1
        except (*UNREADABLE, SmelterError):  # it is said elsewhere
            return True

    def close(self) -> None:
        """Give back port, files and memory; answers that were not read to their end are lost. Harmless twice."""
        self._finish()

    @contextmanager
    def _told(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """DuckDB's errors as ours, and its word for Ctrl-C as Python's."""
        try:
            yield
        except duckdb.Error as problem:
            raise as_smelter_error(problem, self._views) if self._finish.alive else _closed() from problem
        except (KeyboardInterrupt, RuntimeError) as problem:
            cursor.interrupt()  # else the query runs on, and closing it waits for its end
            if isinstance(problem.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from problem
            raise


def _let_go(_: Explorer) -> None:
    """Nothing is left to do: the explorer closes itself when nobody has it any more."""


def _with_texts(sql: str, types: Sequence[str], as_text: frozenset[str]) -> str:
    """The same question, with texts in the columns of these types."""
    names = [f"c{number}" for number in range(len(types))]
    columns = (f"{name}::varchar" if kind in as_text else name for name, kind in zip(names, types, strict=True))
    question = sql.strip().removesuffix(";")
    # It was asked as it stands, so it is one statement.
    return f"select {', '.join(columns)} from (\n{question}\n) as answer({', '.join(names)})"  # noqa: S608


def _interrupt(cursors: Iterable[duckdb.DuckDBPyConnection]) -> None:
    for cursor in list(cursors):
        cursor.interrupt()


def _closed() -> Refused:
    return Refused("this lake was closed", next_step="open it again with smelter.explore.connect(lake)")
