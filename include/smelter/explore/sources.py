"""Where a view's rows come from: the served catalog, which is always current, or files that are named once for all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from smelter.explore.catalog import CATALOG_NAME, UNREADABLE, TableName, Tables
from smelter.explore.facts import FACTS
from smelter.explore.quoting import qualified, quoted_text


class Sources(Protocol):
    """How a statement names a table, and what is known of it."""

    def rows(self, table: TableName) -> str:
        """What stands behind `from`."""

    def address(self, table: TableName) -> str:
        """The text by which functions over metadata find it."""

    def facts(self, table: TableName) -> str | None:
        """The text by which its facts are found; nothing where nobody tells them."""


class Served:
    """Through the catalog: the newest snapshot, at each question."""

    def rows(self, table: TableName) -> str:
        """What stands behind `from`."""
        return f"{CATALOG_NAME}.{qualified(table)}"

    def address(self, table: TableName) -> str:
        """The text by which functions over metadata find it."""
        return f"{CATALOG_NAME}.{qualified(table)}"

    def facts(self, table: TableName) -> str | None:
        """The text by which its facts are found."""
        return f"{CATALOG_NAME}.{qualified(TableName(FACTS, str(table)))}"


@dataclass(frozen=True)
class Pinned:
    """By the metadata file that is the newest now."""

    files: dict[TableName, str]

    @classmethod
    def of(cls, catalog: Tables) -> Pinned:
        """The newest metadata of every table whose metadata DuckDB can read by its file's name."""
        files = {}
        for table in catalog.tables():
            with suppress(*UNREADABLE):
                metadata = catalog.metadata(table)
                if metadata is not None and metadata.location.endswith(".json"):
                    files[table] = metadata.location
        return cls(files)

    def rows(self, table: TableName) -> str:
        """What stands behind `from`; a packed file says so by its name."""
        file = self.files[table]
        packed = ", metadata_compression_codec = 'gzip'" if ".gz." in Path(file).name else ""
        return f"iceberg_scan({quoted_text(file)}{packed})"

    def address(self, table: TableName) -> str:
        """The text by which functions over metadata find it."""
        return self.files[table]

    def facts(self, _: TableName) -> str | None:
        """Nobody is there to tell them."""
        return None
