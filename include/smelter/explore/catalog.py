"""Which tables are there, and what is each one's newest metadata? The lake's catalog, read and never written."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CATALOG_FILE = "catalog.db"
TABLES_FOLDER = "tables"
RECEIPTS_FOLDER = "receipts"
CATALOG_NAME = "lake"
# What reading and understanding a table's metadata may raise, if it is cut, packed badly or of another shape.
UNREADABLE = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError)
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


class Database(Protocol):
    """Where a catalog is kept; each question sees its newest state."""

    def tables(self) -> list[tuple[TableName, str]]:
        """Every table with the place of its metadata."""

    def namespaces(self) -> set[str]:
        """Namespaces that were made, with or without tables."""

    def close(self) -> None:
        """Leave nothing open."""


class Tables(Protocol):
    """Which tables there are, and the metadata of each: as they are now, or as they were."""

    def namespaces(self) -> list[str]:
        """Every namespace, with or without tables."""

    def tables(self) -> list[TableName]:
        """Every table."""

    def metadata(self, table: TableName) -> Metadata | None:
        """The metadata of a table to show; nothing when there is no such table."""


@dataclass(frozen=True)
class Catalog:
    """A lake's catalog; each answer is the newest."""

    database: Database

    def namespaces(self) -> list[str]:
        """Every namespace, with or without tables."""
        return sorted({table.namespace for table in self.tables()} | self.database.namespaces())

    def tables(self) -> list[TableName]:
        """Every table; none when there is no catalog yet."""
        return sorted(table for table, _ in self.database.tables())

    def metadata(self, table: TableName) -> Metadata | None:
        """The newest metadata of a table; nothing when there is no such table."""
        for attempt in range(1, _READ_ATTEMPTS + 1):
            location = dict(self.database.tables()).get(table)
            if location is None:
                return None
            try:
                return Metadata(location, _read(location))
            except FileNotFoundError:  # a writer that keeps few old versions may have removed it in this moment
                if attempt == _READ_ATTEMPTS:
                    raise
        return None


def _path_of(location: str) -> Path:
    """The file of a location that is a plain path or a `file:` address, as Spark and PyIceberg write them."""
    path = location.removeprefix("file://") if location.startswith("file://") else location.removeprefix("file:")
    return Path(path)


def _read(location: str) -> bytes:
    content = _path_of(location).read_bytes()
    return gzip.decompress(content) if content.startswith(_GZIP) else content
