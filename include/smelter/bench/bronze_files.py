"""The files that every contender reads: the same events as NDJSON and as arrays, all good and with bad ones between."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from smelter.contracts import Contract
from smelter.producer import Faults, Format, Plan, produce

FILES = 10
PER_ARRAY = 1_000
LARGE_BYTES = 1_000_000_000
SMALL_BYTES = 10_000_000
NDJSON, ARRAYS = "ndjson", "arrays"
_START = datetime(2026, 1, 1, tzinfo=UTC)
# Five in a hundred, each of a kind that every contender can read. Text that is no JSON, values of the wrong type and
# keys that appear twice are left out: DuckDB and PyArrow stop there, and Spark takes some of them for good.
FIVE_PERCENT = Faults(invalid=0.015, missing=0.0125, extra=0.0125, nulls=0.01)
Say = Callable[[str], None]


@dataclass(frozen=True)
class FileSet:
    """A folder of files, and what a checker must find in it."""

    name: str
    form: str
    folder: Path
    good: int
    dead: int

    @property
    def records(self) -> int:
        """All of them, good or not."""
        return self.good + self.dead

    def as_request(self) -> str:
        """What a contender is told."""
        return json.dumps({"folder": str(self.folder), "form": self.form})


def files_in(folder: Path) -> list[Path]:
    """The files of a set, in order."""
    return sorted(folder.iterdir())


def make_comparison(contract: Contract, scratch: Path, events: int, say: Say) -> list[FileSet]:
    """The four sets of the comparison: two forms, without dead letters and with five in a hundred."""
    sets = []
    for percent, faults in ((0, Faults()), (5, FIVE_PERCENT)):
        say(f"making {events:,} events, {percent} % of them bad")
        folder = scratch / f"ndjson-{percent}"
        plan = Plan(events, folder, 1, _START, None, -(-events // FILES), Format.NDJSON, faults=faults)
        made = produce(contract, plan)
        arrays = scratch / f"arrays-{percent}"
        _cut(files_in(folder), arrays, _as_array, ".json")
        sets += [
            FileSet(f"{form}, {percent} % dead", form, place, made.good, made.dead)
            for form, place in ((NDJSON, folder), (ARRAYS, arrays))
        ]
    return sets


def make_warm_ups(sets: list[FileSet], scratch: Path) -> list[FileSet]:
    """One small file for the first commit; then a tenth of each form, because a JVM takes long to be warm."""
    first = files_in(sets[0].folder)[0]
    with first.open("rb") as lines:
        few = list(islice(lines, PER_ARRAY))
    small = scratch / "warm-up"
    small.mkdir()
    _write(small / first.name, b"".join(few), first)
    return [FileSet("the first file", NDJSON, small, len(few), 0), *(_tenth(files, scratch) for files in sets)]


def _tenth(of: FileSet, scratch: Path) -> FileSet:
    """A tenth of a set in which all are good."""
    folder = scratch / f"warm-up-{of.form}"
    folder.mkdir()
    files = files_in(of.folder)
    for file in files[: len(files) // FILES]:
        (folder / file.name).hardlink_to(file)
    return FileSet(f"warm-up, {of.form}", of.form, folder, of.good // FILES, of.dead)


def make_one_and_many(of: FileSet, scratch: Path) -> tuple[FileSet, FileSet]:
    """A fifth of the events in one file, and the same in files of 1,000."""
    sources = files_in(of.folder)[: FILES // 5]
    one, many = scratch / "one", scratch / "many"
    one.mkdir()
    _write(one / "one.ndjson", b"".join(source.read_bytes() for source in sources), sources[-1])
    records = _cut(sources, many, b"".join, ".ndjson")
    files = f"{len(files_in(many))} files of {PER_ARRAY:,}"
    return FileSet("one file", NDJSON, one, records, 0), FileSet(files, NDJSON, many, records, 0)


def make_small_and_large(of: FileSet, scratch: Path) -> tuple[FileSet, FileSet]:
    """One file of 10 MB, and one of 1 GB."""
    sources = files_in(of.folder)
    small, large = scratch / "small", scratch / "large"
    found = (_fill(folder, sources, size) for folder, size in ((small, SMALL_BYTES), (large, LARGE_BYTES)))
    few, many = found
    return FileSet(_size(SMALL_BYTES), NDJSON, small, few, 0), FileSet(_size(LARGE_BYTES), NDJSON, large, many, 0)


def _size(count: int) -> str:
    return f"one file of {count / 1e9:g} GB" if count >= 1e9 else f"one file of {count / 1e6:g} MB"


def _fill(folder: Path, sources: list[Path], size: int) -> int:
    """Write one file of about that many bytes, the sources again and again; returns its lines."""
    folder.mkdir()
    file, records = folder / "file.ndjson", 0
    with file.open("wb") as target:
        while target.tell() < size:
            for source in sources:
                with source.open("rb") as lines:
                    for line in lines:
                        if target.tell() >= size:
                            break
                        target.write(line)
                        records += 1
    _as_old_as(file, sources[-1])
    return records


def _cut(sources: list[Path], folder: Path, join: Callable[[list[bytes]], bytes], suffix: str) -> int:
    """The lines of the sources in files of 1,000."""
    folder.mkdir()
    records = 0
    for source in sources:
        with source.open("rb") as lines:
            for number, part in enumerate(_parts(lines)):
                _write(folder / f"{source.stem}-{number:04d}{suffix}", join(part), source)
                records += len(part)
    return records


def _parts(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while part := list(islice(lines, PER_ARRAY)):
        yield part


def _as_array(lines: list[bytes]) -> bytes:
    return b"[" + b",".join(line.rstrip(b"\n") for line in lines) + b"]"


def _write(file: Path, content: bytes, like: Path) -> None:
    file.write_bytes(content)
    _as_old_as(file, like)


def _as_old_as(file: Path, other: Path) -> None:
    """An event may not be later than its file's arrival."""
    modified = other.stat().st_mtime_ns
    os.utime(file, ns=(modified, modified))
