"""The landing folder as it is: what waits, what is empty, what was written again, what goes after its commit."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from smelter.contracts.finished import is_finished
from smelter.lake.batches import Receipt, Unit
from smelter.lake.sources import path_of, source_of


@dataclass(frozen=True)
class Landing:
    """The files of a landing folder, by what the stream has to do with them."""

    waiting: tuple[Path, ...] = ()
    oldest_waiting_seconds: float | None = None
    rewritten: tuple[Path, ...] = ()  # changed after they were read; the stream does not look again
    empty: tuple[Path, ...] = ()
    unfinished: tuple[Path, ...] = ()  # temporary names
    unnameable: tuple[Path, ...] = ()  # Spark cannot see names that are not UTF-8
    known: int = field(default=0)


def look_at(folder: Path, committed: Mapping[str, Unit]) -> Landing:
    """Compare the folder with what was committed. Reads no content."""
    latest = _latest_readings(committed)
    found: dict[str, list[Path]] = {name: [] for name in ("waiting", "rewritten", "empty", "unfinished", "unnameable")}
    oldest, known = None, 0
    for path, stat in _files(folder):
        if not is_in_finished_place(path, folder):
            found["unfinished"].append(path)
            continue
        if not _is_text(path):
            found["unnameable"].append(path)
            continue
        if stat.st_size == 0:
            found["empty"].append(path)
        unit = latest.get(source_of(path))
        if unit is None:
            found["waiting"].append(path)
            oldest = min(oldest or stat.st_mtime, stat.st_mtime)
        elif (unit.length, unit.modified_ns) != (stat.st_size, stat.st_mtime_ns):
            found["rewritten"].append(path)
        else:
            known += 1
    age = None if oldest is None else max(0.0, time.time() - oldest)
    return Landing(oldest_waiting_seconds=age, known=known, **{name: tuple(paths) for name, paths in found.items()})


def put_away(receipts: Iterable[Receipt], landing: Path, archive: Path | None) -> tuple[int, list[OSError]]:
    """Move committed files to the archive, or delete them where there is none; returns how many, and what went wrong.

    Only a file that is still exactly what was read, and was read whole, goes. Safe to repeat: what is gone is gone.
    """
    gone, problems = 0, []
    for receipt in receipts:
        path, unit = path_of(receipt.unit.source), receipt.unit
        try:
            stat = path.stat()
            if receipt.is_whole and (stat.st_size, stat.st_mtime_ns) == (unit.length, unit.modified_ns):
                _put_one_away(path, unit.source, landing, archive)
                gone += 1
        except FileNotFoundError:
            continue
        except OSError as problem:
            problems.append(problem)
    return gone, problems


def archived(source: str, landing: Path, archive: Path) -> Path:
    """Where a source lies if it was archived."""
    path, reading = path_of(source), source.partition("#")[2]
    inside = path.relative_to(landing) if path.is_relative_to(landing) else Path(path.name)
    return archive / inside.with_name(inside.name + (f"#{reading}" if reading else ""))


def is_in_finished_place(path: Path, landing: Path) -> bool:
    """Neither the file nor any folder above it has a temporary name."""
    inside = path.relative_to(landing) if path.is_relative_to(landing) else Path(path.name)
    return all(is_finished(part) for part in inside.parts)


def _put_one_away(path: Path, source: str, landing: Path, archive: Path | None) -> None:
    if archive is None:
        path.unlink()
        return
    target = archived(source, landing, archive)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(path, target)  # a landing folder may be on another disk


def _latest_readings(committed: Mapping[str, Unit]) -> dict[str, Unit]:
    latest: dict[str, tuple[int, Unit]] = {}
    for source, unit in committed.items():
        base, _, reading = source.partition("#")
        number = int(reading or 1)
        if base not in latest or number > latest[base][0]:
            latest[base] = number, unit
    return {base: unit for base, (_, unit) in latest.items()}


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with suppress(OSError):
                if path.is_file():
                    yield path, path.stat()


def _is_text(path: Path) -> bool:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
