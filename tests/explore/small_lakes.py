"""Small lakes to ask, written by PyIceberg as anybody would write them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from smelter.catalog_address import CatalogAddress
from smelter.lake.catalog import open_database

NUMBERS = pa.schema([("id", pa.int64()), ("name", pa.string())])


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


Smelt = Callable[..., Done]


class SmallLake:
    """A lake with a catalog file and tables; made when the first table is."""

    def __init__(self, path: Path, address: CatalogAddress | None = None) -> None:
        self.path = path
        self.address = address
        self._catalog: SqlCatalog | None = None

    @property
    def catalog_file(self) -> Path:
        return self.path / "catalog.db"

    @property
    def catalog(self) -> SqlCatalog:
        if self._catalog is None:
            self.path.mkdir(parents=True, exist_ok=True)
            self._catalog = self._open()
        return self._catalog

    def _open(self) -> SqlCatalog:
        if self.address is not None:
            return open_database(self.address, self.path / "tables")
        return SqlCatalog("lake", uri=f"sqlite:///{self.catalog_file}", warehouse=str(self.path / "tables"))

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()

    def make(self, namespace: str, name: str, schema: pa.Schema = NUMBERS, *, spelled: str = "") -> Table:
        """An empty table; `spelled` goes before its path."""
        self.catalog.create_namespace_if_not_exists((namespace,))
        place = self.path / "tables" / f"table{len(list(self.path.glob('tables/*')))}"
        return self.catalog.create_table((namespace, name), schema=schema, location=f"{spelled}{place}")

    def append(self, table: Table, ids: list[int]) -> None:
        """Commit some rows."""
        names = [f"name {number}" for number in ids]
        table.refresh().append(pa.table({"id": ids, "name": names}, schema=NUMBERS))

    def with_events(self, ids: list[int]) -> Table:
        """`bronze.events` with these rows."""
        table = self.make("bronze", "events")
        self.append(table, ids)
        return table

    def in_catalog(self, words: str, *values: Any) -> None:
        """Change the catalog behind everybody's back."""
        database = sqlite3.connect(self.catalog_file)
        database.execute(words, values)
        database.commit()
        database.close()

    def files(self) -> set[Path]:
        """Everything in the lake's folder."""
        return {place for place in self.path.rglob("*") if place.is_file()}


def metadata_file(table: Table) -> Path:
    return Path(table.refresh().metadata_location.removeprefix("file://"))
