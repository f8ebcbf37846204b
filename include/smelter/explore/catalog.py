"""Which tables are there, and what is each one's newest metadata? The lake's catalog file, read and never written."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import Unreachable

CATALOG_FILE = "catalog.db"
TABLES_FOLDER = "tables"
CATALOG_NAME = "lake"
_WAIT_SECONDS = 30  # for a writer, where the catalog's journal makes readers wait
_READ_ATTEMPTS = 5
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, order=True)
class TableName:
    """A table's two names; they come from a file that anybody may have written."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"


@dataclass(frozen=True)
class Metadata:
    """A table's newest metadata: where it is kept, and its JSON."""

    location: str
    content: bytes


@dataclass(frozen=True)
class Catalog:
    """A lake's catalog; each question opens the file anew, so each answer is the newest."""

    path: Path

    def namespaces(self) -> list[str]:
        """Every namespace, with or without tables."""
        with self._open() as database:
            found = {name for name, _, _ in _tables(database)}
            if _columns(database, "iceberg_namespace_properties"):
                words = "select distinct namespace from iceberg_namespace_properties where catalog_name = ?"
                found |= {str(name) for (name,) in database.execute(words, (CATALOG_NAME,))}
        return sorted(found)

    def tables(self) -> list[TableName]:
        """Every table; none when there is no catalog yet."""
        with self._open() as database:
            return sorted(TableName(namespace, name) for namespace, name, _ in _tables(database))

    def metadata(self, table: TableName) -> Metadata | None:
        """The newest metadata of a table; nothing when there is no such table."""
        for attempt in range(1, _READ_ATTEMPTS + 1):
            location = self._location(table)
            if location is None:
                return None
            try:
                return Metadata(location, _read(location))
            except FileNotFoundError:  # a writer that keeps few old versions may have removed it in this moment
                if attempt == _READ_ATTEMPTS:
                    raise
        return None

    def _location(self, table: TableName) -> str | None:
        with self._open() as database:
            found = (place for *names, place in _tables(database) if names == [table.namespace, table.name])
            return next(found, None)

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


def _path_of(location: str) -> Path:
    """The file of a location that is a plain path or a `file:` address, as Spark and PyIceberg write them."""
    path = location.removeprefix("file://") if location.startswith("file://") else location.removeprefix("file:")
    return Path(path)


def _read(location: str) -> bytes:
    content = _path_of(location).read_bytes()
    return gzip.decompress(content) if content.startswith(_GZIP) else content


def _tables(database: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Namespace, name and place of the metadata of each table; views, and older catalogs without types, are known."""
    columns = _columns(database, "iceberg_tables")
    if not columns:
        return []
    words = "select table_namespace, table_name, metadata_location from iceberg_tables where catalog_name = ?"
    if "iceberg_type" in columns:
        words += " and coalesce(iceberg_type, 'TABLE') = 'TABLE'"
    return [(str(a), str(b), str(c)) for a, b, c in database.execute(words, (CATALOG_NAME,))]


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(name) for (name,) in database.execute("select name from pragma_table_info(?)", (table,))}
