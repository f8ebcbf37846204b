"""What is a table made of? Files by partition, manifests, snapshots and metadata. No JVM, and no row is opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil

from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from smelter.lake.catalog import local_path
from smelter.lake.commits import told
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS
from smelter.maintenance.subjects import Subject

FEWEST_FILES = 5  # that are worth packing into one: Iceberg's own measure
SMALL_SHARE = 0.75  # of the target: a larger one is left as it is
_TIME_COLUMNS = {BRONZE: "_ingested_at", DEAD_LETTERS: "_ingested_at"}


@dataclass
class Partition:
    """The files of one partition value, of which the small ones are kept with their moments."""

    value: str = ""
    files: int = 0
    bytes: int = 0
    small: list[tuple[int, int]] = field(default_factory=list)  # bytes, first moment in microseconds

    def small_before(self, moment: int | None) -> list[int]:
        """The bytes of small files with rows from before a moment; of all, if there is none."""
        return [size for size, first in self.small if moment is None or first < moment]

    def newest(self) -> int:
        """The latest first moment of its small files: when it was last written to, as far as that matters."""
        return max((first for _, first in self.small), default=0)


@dataclass(frozen=True)
class Survey:
    """One table as it is now."""

    rows: int
    files: int
    bytes: int
    small_files: int
    delete_files: int
    manifests: int
    manifest_bytes: int
    snapshots: int
    metadata_bytes: int
    partitions: tuple[Partition, ...]
    target_bytes: int

    def numbers(self) -> dict[str, int]:
        """What the record of a run keeps of it."""
        names = ("rows", "files", "bytes", "small_files", "delete_files", "manifests", "snapshots", "metadata_bytes")
        return {name: getattr(self, name) for name in names}

    def by_partition(self) -> list[dict[str, str | int]]:
        """What is in each partition; of a table of few files nobody looks."""
        names = ("value", "files", "bytes")
        return [{**{name: getattr(one, name) for name in names}, "small": len(one.small)} for one in self.partitions]


def survey(table: Table, subject: Subject) -> Survey:
    """Look at the table's current snapshot; the files of its manifests are read only where some may be small."""
    metadata, snapshot = table.metadata, table.current_snapshot()
    target = int(table.properties.get("write.target-file-size-bytes", subject.policy.target_bytes))
    manifests = snapshot.manifests(table.io) if snapshot is not None else []
    count = int(told(snapshot, "total-data-files") or 0) if snapshot is not None else 0
    size = int(told(snapshot, "total-files-size") or 0) if snapshot is not None else 0
    partitions = _partitions(table, manifests, target) if count >= FEWEST_FILES else ()
    return Survey(
        rows=int(told(snapshot, "total-records") or 0) if snapshot is not None else 0,
        files=count,
        bytes=size,
        small_files=sum(len(one.small) for one in partitions),
        delete_files=int(told(snapshot, "total-delete-files") or 0) if snapshot is not None else 0,
        manifests=len(manifests),
        manifest_bytes=sum(one.manifest_length for one in manifests),
        snapshots=len(metadata.snapshots),
        metadata_bytes=_size(table.metadata_location),
        partitions=tuple(partitions),
        target_bytes=target,
    )


def files_after(sizes: Iterable[int], target: int) -> int:
    """How many files compaction would make of files of these sizes."""
    return max(1, ceil(sum(sizes) / target))


def time_column(subject: Subject) -> str | None:
    """The column by which young files of a running stream are told; nothing where no stream writes."""
    return _TIME_COLUMNS.get(subject.namespace) if subject.name != RESOLUTIONS else None


def _partitions(table: Table, manifests: Iterable[ManifestFile], target: int) -> Iterable[Partition]:
    found: dict[tuple[int, str], Partition] = {}
    column = _column_id(table.metadata)
    for manifest in manifests:
        if manifest.content == ManifestContent.DATA:
            for entry in manifest.fetch_manifest_entry(table.io):
                file = entry.data_file
                key = (manifest.partition_spec_id, str(file.partition))
                _count(found.setdefault(key, Partition(_value(file))), file, column, target)
    return found.values()


def _value(file: DataFile) -> str:
    """As Iceberg keeps it: a day is the days since 1970."""
    return ", ".join(str(file.partition[at]) for at in range(len(file.partition)))


def _count(partition: Partition, file: DataFile, column: int | None, target: int) -> None:
    partition.files += 1
    partition.bytes += file.file_size_in_bytes
    if file.file_size_in_bytes < SMALL_SHARE * target:
        bound = (file.lower_bounds or {}).get(column) if column is not None else None
        moment = int.from_bytes(bound, "little", signed=True) if bound else 0
        partition.small.append((file.file_size_in_bytes, moment))


def _column_id(metadata: TableMetadata) -> int | None:
    return next((one.field_id for one in metadata.schema().fields if one.name == "_ingested_at"), None)


def _size(location: str) -> int:
    path = local_path(location)
    return path.stat().st_size if path.exists() else 0
