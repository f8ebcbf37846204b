"""Where is everything? One lake: its folders, its catalog, and the names of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.catalog_address import CatalogAddress
from smelter.contracts import Contract
from smelter.lake import layout
from smelter.lake.letter_status import DEAD_LETTERS, RESOLUTIONS
from smelter.run_folders import stream_folder
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

    from smelter.lake.batches import BatchRecords

__all__ = [
    "BRONZE",
    "CONTRACTS",
    "DEAD_LETTERS",
    "FORGOTTEN",
    "GOLD",
    "LEDGER",
    "OPS",
    "QUALITY",
    "RESOLUTIONS",
    "SILVER",
    "Lake",
]

BRONZE = "bronze"
SILVER = "silver"
GOLD = "gold"
OPS = "ops"
CONTRACTS = "contracts"
FORGOTTEN = "forgotten"
QUALITY = "quality"
LEDGER = "ledger"


@dataclass(frozen=True)
class Lake:
    """A lake that has its layout; everything in it is found from here."""

    root: Path
    jars: Path
    address: CatalogAddress | None = None  # of a catalog that is not the file in the lake

    @classmethod
    def at(cls, settings: Settings) -> Lake:
        """The lake of the settings; made if it is not there, refused if it is something else."""
        layout.ensure_layout(settings.lake)
        layout.refuse_other_catalog(settings.lake, settings.catalog)
        return cls(settings.lake.resolve(), settings.jars, settings.catalog)

    @cached_property
    def catalog(self) -> SqlCatalog:
        """The catalog, open; the same one that Spark opens under the same name."""
        from smelter.lake.catalog import open_catalog, open_database

        if self.address is None:
            return open_catalog(self.root / layout.CATALOG)
        catalog = open_database(self.address, self.root / layout.TABLES)
        note = self.root / layout.CATALOG_ELSEWHERE
        if not note.exists():
            note.write_text(f"{self.address}\n", "utf-8")
        return catalog

    @property
    def has_catalog(self) -> bool:
        """Has anything ever been kept here? Asking makes nothing."""
        if self.address is None:
            return (self.root / layout.CATALOG).exists()
        return "catalog" in vars(self) or self._owns(self.address)

    def _owns(self, address: CatalogAddress) -> bool:
        from smelter.postgres import asking, is_of, owner_of

        with asking(address) as line:
            return is_of(owner_of(line), self.root / layout.TABLES, address)

    def table_location(self, namespace: str, name: str) -> str:
        """Where a table lies. A plain path: every reader takes it as it is, whatever characters are in it."""
        return str(self.root / layout.TABLES / namespace / name)

    def checkpoint(self, stream: str) -> Path:
        """Where Spark remembers how far a stream has come."""
        return self.root / layout.CHECKPOINTS / stream

    def receipts(self, stream: str) -> Path:
        """Where the records of a stream's batches are."""
        return self.root / layout.RECEIPTS / stream

    def letter_runs(self, dataset: str) -> Path:
        """Where the records of runs over dead letters are: replays, edits, discards and undoings."""
        return self.receipts(dataset) / "dead_letters"

    def batches(self, dataset: str) -> BatchRecords:
        """The records of a stream's batches, also of those that were folded into `ops.ledger`."""
        from smelter.lake.folded import STREAM, records_of

        return records_of(self, dataset, STREAM)

    def letter_batches(self, dataset: str) -> BatchRecords:
        """The records of runs over dead letters, also of those that were folded into `ops.ledger`."""
        from smelter.lake.folded import LETTERS, records_of

        return records_of(self, dataset, LETTERS)

    def run_folder(self, stream: str) -> Path:
        """Where a stream's driver keeps its lock, heartbeat and logs."""
        return stream_folder(self.root, stream)

    def job_folder(self, namespace: str, name: str) -> Path:
        """Where whoever builds a table keeps its log and scratch files; the table's lease gives it the folder alone."""
        return self.root / layout.RUN / "jobs" / f"{namespace}.{name}"

    @property
    def quality(self) -> Path:
        """Where the results of checks are kept, and the report that is made of them."""
        return self.root / layout.QUALITY

    def landing(self, contract: Contract) -> Path:
        """Where the dataset's files arrive, under the one name that its records are known by."""
        return (self.root / contract.source.files).resolve()

    def archive(self, dataset: str) -> Path:
        """Where ingested landing files go, if the contract says so."""
        return self.root / layout.ARCHIVE / dataset
