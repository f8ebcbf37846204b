"""Which files in a table's folder belong to nobody? Neither to a snapshot, nor to a batch that waits, nor to a writer.

Safe to be wrong about none: a file is a stray only if nothing names it, it is old, and it looks the same as when it was
seen before. Whoever still writes is known by the plan of their batch, by the open file, or by the table's lease.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from pyiceberg.table import Table

from smelter.contracts.values import YOUNGEST_ORPHAN
from smelter.lake import layout
from smelter.lake.batches import PLANNED, BatchRecords
from smelter.lake.catalog import local_path, real_path
from smelter.lake.home import Lake
from smelter.maintenance.subjects import Subject


class Stray(msgspec.Struct, frozen=True):
    """A file that nothing names, as it was seen."""

    path: str
    size: int
    modified_ns: int

    @property
    def is_named(self) -> bool:
        """Can its name be written down? No writer of ours makes one that is no text."""
        return self.path == self.path.encode(errors="replace").decode()


@dataclass(frozen=True)
class Strays:
    """What lies in a table's folder for long and belongs to nobody."""

    free: tuple[Stray, ...] = ()  # that may go, if they were seen before
    held: int = 0  # that somebody may still write, or a batch that waits needs

    @property
    def bytes(self) -> int:
        """Of those that may go."""
        return sum(one.size for one in self.free)


def strays_of(lake: Lake, table: Table, subject: Subject, now: float) -> Strays:
    """Old files that nothing names. Most are named by the newest snapshot; only for the rest are others asked."""
    folder = local_path(table.location())
    before = int((now - max(subject.policy.orphan_seconds, YOUNGEST_ORPHAN)) * 1e9)
    found = list(_files(folder))  # before what names them: a commit in between names more, not less
    old = {one.path: one for one in found if one.modified_ns < before}
    if str(local_path(table.metadata_location)) not in {one.path for one in found}:
        return Strays(held=len(old))  # the table speaks of its files by other names, which are not understood
    for named in _named(table):
        for path in map(str, map(local_path, named)):
            old.pop(path, None)
            old.pop(_checksum_of(path), None)
        if not old:
            return Strays()
    needed, busy, begun = _needed(lake), _open_files(folder), _begun_ns(lake, subject)
    kept = needed | busy
    free = [one for one in old.values() if one.path not in kept and one.modified_ns < begun and one.is_named]
    return Strays(tuple(free), len(old) - len(free))


def _named(table: Table) -> Iterator[Iterable[str]]:
    """The files that the table needs, a part at a time: its metadata, then each snapshot's, newest first."""
    metadata, io = table.metadata, table.io
    yield (table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log))
    yield [one.statistics_path for one in (*metadata.statistics, *metadata.partition_statistics)]
    yield [one.manifest_list for one in metadata.snapshots]
    asked: set[str] = set()
    for snapshot in reversed(metadata.snapshots):
        fresh = [one for one in snapshot.manifests(io) if one.manifest_path not in asked]
        asked.update(one.manifest_path for one in fresh)
        yield [one.manifest_path for one in fresh]
        for manifest in fresh:
            entries = manifest.fetch_manifest_entry(io, discard_deleted=False)
            yield [entry.data_file.file_path for entry in entries]


def _checksum_of(path: str) -> str:
    """Spark leaves one beside each file that it writes on a local disk."""
    return str(Path(path).with_name(f".{Path(path).name}.crc"))


def _files(folder: Path) -> Iterator[Stray]:
    for place, _folders, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with suppress(FileNotFoundError):
                stat = path.lstat()
                yield Stray(str(path), stat.st_size, stat.st_mtime_ns)


def _needed(lake: Lake) -> set[str]:
    """Data files of batches and runs that were prepared: whoever goes on commits them."""
    needed: set[str] = set()
    for records in _all_records(lake):
        for intent in records.prepared():
            needed.update(file.path for file in (*intent.bronze, *intent.letters, *intent.resolutions))
    return needed


def _begun_ns(lake: Lake, subject: Subject) -> int:
    """When the oldest batch began that is only planned: whatever was written since may be its work."""
    plans = lake.receipts(subject.dataset).glob(f"*.{PLANNED}.json") if subject.dataset is not None else ()
    return min((path.stat().st_mtime_ns for path in plans if path.exists()), default=sys.maxsize)


def _all_records(lake: Lake) -> Iterable[BatchRecords]:
    for folder in (lake.root / layout.RECEIPTS).glob("*"):
        yield BatchRecords(folder)
        yield BatchRecords(lake.letter_runs(folder.name))


def _open_files(folder: Path) -> set[str]:
    """Files of the folder that a process of this machine has open, as far as the kernel lets us see."""
    found: set[str] = set()
    place = f"{real_path(str(folder))}/"  # the kernel names files without links
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            target = str(handle.readlink())
            if target.startswith(place):
                found.add(str(folder / target.removeprefix(place)))
    return found
