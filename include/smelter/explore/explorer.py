"""The room's one door: open a lake, ask, close."""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import duckdb

from smelter.catalog_address import CatalogAddress, parse_address
from smelter.errors import Refused, WrongUsage
from smelter.explore.catalog import CATALOG_FILE, Catalog, Database, TableName
from smelter.explore.connection import open_duckdb
from smelter.explore.databases import PostgresDatabase, SqliteFile
from smelter.explore.facade import Facade
from smelter.explore.problems import as_smelter_error
from smelter.explore.safety import refuse_unless_query
from smelter.explore.views import Views
from smelter.settings import load_settings

if TYPE_CHECKING:
    import pyarrow

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]
# DuckDB would list its main schema, which is empty.
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_TABLES = """
    select table_schema as namespace, table_name as "table" from information_schema.tables
    where table_catalog = current_database() order by all
"""


def connect(lake: Path, unsafe: bool = False, *, catalog: CatalogAddress | str | None = None) -> Explorer:
    """Open a lake for questions; a lake without tables, or without a catalog yet, is open all the same.

    `catalog` is the address of its PostgreSQL catalog; if it is not given, the lake's settings tell.
    """
    return _open(lake, _database(lake, catalog or load_settings(lake).values.catalog), unsafe=unsafe)


def _database(lake: Path, catalog: CatalogAddress | str | None) -> Database:
    if catalog is None:
        file = SqliteFile(lake.absolute() / CATALOG_FILE)
        file.refuse_if_left()
        return file
    try:
        address = parse_address(catalog) if isinstance(catalog, str) else catalog
    except ValueError as problem:
        raise WrongUsage(f"`catalog` cannot be used: {problem}") from None
    return PostgresDatabase(address, lake)


def _open(lake: Path, database: Database, *, unsafe: bool) -> Explorer:
    catalog = Catalog(database)
    with ExitStack() as opened:
        opened.callback(database.close)
        folder = tempfile.TemporaryDirectory(prefix="smelter-explore-", ignore_cleanup_errors=True)
        workspace = opened.enter_context(folder)
        facade = Facade(catalog)
        opened.callback(facade.close)
        connection = open_duckdb(Path(workspace), lake, facade, unsafe=unsafe)
        opened.callback(connection.close)
        views = Views(connection, catalog)
        views.refresh()
        return Explorer(connection, views, opened.pop_all(), unsafe=unsafe)


class Explorer:
    """A lake that is open for questions. Threads may share it. It closes itself when it is forgotten."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, views: Views, opened: ExitStack, *, unsafe: bool) -> None:
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

    def execute(self, sql: str, parameters: Parameters | None = None) -> Answer:
        """Ask one question of the newest snapshots of the tables that are there now.

        Each question has a DuckDB connection of its own, so that threads do not take each other's answers.
        """
        self.refresh()
        with self._told(self._connection):
            cursor = self._connection.cursor()
        self._asked.add(cursor)
        with self._told(cursor):
            if not self._unsafe:
                refuse_unless_query(cursor, sql, self._views.made)
            cursor.execute(_TABLES if _SHOW_TABLES.fullmatch(sql) else sql, parameters)
            return Answer(self, cursor)

    def refresh(self) -> None:
        """Make views of tables that are new, and drop those of tables that are gone; every question begins so."""
        if not self._finish.alive:
            raise _closed()
        with self._told(self._connection):
            self._views.refresh()

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


class Answer:
    """The rows of one question. They are computed as they are read, so an error may come late."""

    def __init__(self, explorer: Explorer, cursor: duckdb.DuckDBPyConnection) -> None:
        self._explorer = explorer
        self._cursor = cursor
        self.description: list[tuple[Any, ...]] = list(cursor.description or [])

    @property
    def columns(self) -> list[str]:
        """The names of the columns; a query may give two of them the same name."""
        return [str(column[0]) for column in self.description]

    @property
    def types(self) -> list[str]:
        """DuckDB's names of the types of the columns."""
        return [str(column[1]) for column in self.description]

    def fetchone(self) -> Row | None:
        """The next row, or nothing after the last."""
        with self._explorer._told(self._cursor):
            return self._cursor.fetchone()

    def fetchmany(self, size: int = 1000) -> list[Row]:
        """The next rows, at most this many; none after the last."""
        with self._explorer._told(self._cursor):
            return self._cursor.fetchmany(size)

    def fetchall(self) -> list[Row]:
        """All the rows that are left."""
        with self._explorer._told(self._cursor):
            return self._cursor.fetchall()

    def arrow(self) -> pyarrow.Table:
        """The whole answer as an Arrow table."""
        with self._explorer._told(self._cursor):
            return self._cursor.to_arrow_table()

    def batches(self, size: int) -> Iterator[pyarrow.RecordBatch]:
        """The answer as Arrow batches of about so many rows, computed as they are taken."""
        with self._explorer._told(self._cursor):
            yield from self._cursor.to_arrow_reader(size)

    def __iter__(self) -> Iterator[Row]:
        while rows := self.fetchmany():
            yield from rows


def _interrupt(cursors: Iterable[duckdb.DuckDBPyConnection]) -> None:
    for cursor in list(cursors):
        cursor.interrupt()


def _closed() -> Refused:
    return Refused("this lake was closed", next_step="open it again with smelter.explore.connect(lake)")
