"""The two places where a catalog can be: a SQLite file in the lake, or a PostgreSQL database. Both are only read."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from smelter.catalog_address import CatalogAddress
from smelter.errors import Refused, Unreachable
from smelter.explore.catalog import CATALOG_NAME, TABLES_FOLDER, TableName
from smelter.postgres import is_of, no_answer, open_line, owner_of

if TYPE_CHECKING:
    from psycopg2.extensions import connection as Line  # noqa: N812

Found = TypeVar("Found")
_ELSEWHERE = "catalog.address"  # the lake's note of where its catalog is, if it is not in the lake
_WAIT_SECONDS = 30  # for a writer, where the catalog's journal makes readers wait
_TABLES = "select table_namespace, table_name, metadata_location from iceberg_tables where catalog_name = {}"
_TABLES_ONLY = " and coalesce(iceberg_type, 'TABLE') = 'TABLE'"
_NAMESPACES = "select distinct namespace from iceberg_namespace_properties where catalog_name = {}"


@dataclass(frozen=True)
class SqliteFile:
    """A catalog file; each question opens it anew, and views, and older catalogs without types, are known."""

    path: Path

    def tables(self) -> list[tuple[TableName, str]]:
        """Every table with the place of its metadata."""
        with self._open() as database:
            columns = _columns(database, "iceberg_tables")
            if not columns:
                return []
            words = _TABLES.format("?") + (_TABLES_ONLY if "iceberg_type" in columns else "")
            return [_table(row) for row in database.execute(words, (CATALOG_NAME,))]

    def namespaces(self) -> set[str]:
        """Namespaces that were made, with or without tables."""
        with self._open() as database:
            if not _columns(database, "iceberg_namespace_properties"):
                return set()
            return {str(name) for (name,) in database.execute(_NAMESPACES.format("?"), (CATALOG_NAME,))}

    def close(self) -> None:
        """Nothing is open between questions."""

    def refuse_if_left(self) -> None:
        """A lake whose catalog is a database would look empty here."""
        note = self.path.with_name(_ELSEWHERE)
        if note.exists():
            raise Refused(
                f"this lake has its catalog in {note.read_text('utf-8').strip()}, and no setting names it",
                where=str(note),
                data="nothing was read",
                next_step="set SMELTER_CATALOG, or `catalog` in the lake's smelter.toml (in Python catalog=…)",
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file, read-only; a file that is not there yet is an empty catalog, and is not made."""
        where = f"{self.path.absolute().as_uri()}?mode=ro" if self.path.exists() else "file::memory:"
        try:
            database = sqlite3.connect(where, uri=True, timeout=_WAIT_SECONDS)
            try:
                yield database
            finally:
                database.close()
        except sqlite3.Error as problem:
            raise Unreachable(
                f"the lake's catalog cannot be read: {problem}",
                where=str(self.path),
                data="nothing was changed",
                next_step="see that this file is a SQLite database that you may read, then run it again",
            ) from problem


class PostgresDatabase:
    """A database; one line for all threads, and a new one when the old one is cut. Another lake's is refused."""

    def __init__(self, address: CatalogAddress, lake: Path) -> None:
        self._address = address
        self._folder = lake.resolve() / TABLES_FOLDER
        self._lock = threading.Lock()
        self._line: Line | None = None

    def tables(self) -> list[tuple[TableName, str]]:
        """Every table with the place of its metadata."""
        return self._ask(_TABLES.format("%s") + _TABLES_ONLY, _table)

    def namespaces(self) -> set[str]:
        """Namespaces that were made, with or without tables."""
        return set(self._ask(_NAMESPACES.format("%s"), lambda row: str(row[0])))

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None

    def _ask(self, words: str, read: Callable[[tuple[str, ...]], Found]) -> list[Found]:
        """Ask; if the line was cut since the last question, once more on a new one."""
        import psycopg2

        with self._lock:
            for again in (self._line is not None, False):
                try:
                    return [read(row) for row in self._rows(words)]
                except psycopg2.Error as problem:
                    if self._line is not None:
                        self._line.close()
                    self._line = None
                    if not again:
                        raise no_answer(problem, self._address) from problem
        raise AssertionError  # each way through the loop ends it

    def _rows(self, words: str) -> list[tuple[str, ...]]:
        if self._line is None:
            self._line = open_line(self._address)
            self._line.set_session(readonly=True)
        if not is_of(owner_of(self._line), self._folder, self._address):
            return []
        with self._line.cursor() as cursor:
            cursor.execute(words, (CATALOG_NAME,))
            return list(cursor.fetchall())


def _table(row: tuple[str, ...]) -> tuple[TableName, str]:
    namespace, name, place = map(str, row)
    return TableName(namespace, name), place


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(name) for (name,) in database.execute("select name from pragma_table_info(?)", (table,))}
