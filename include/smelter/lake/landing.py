"""The landing folder as it is: what waits, what is empty, what was written again, what goes after its commit."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from smelter.contracts.finished import is_finished
from smelter.lake.batches import Receipt, Unit
from smelter.lake.sources import path_of, source_of

_LEAVING = ".leaving"


@dataclass(frozen=True)
class Landing:
    """The files of a landing folder, by what the stream has to do with them."""

    waiting: tuple[Path, ...] = ()
    oldest_waiting_seconds: float | None = None
    rewritten: tuple[Path, ...] = ()  # changed after they were read; the stream does not look again
    empty: tuple[Path, ...] = ()
    unfinished: tuple[Path, ...] = ()  # temporary names
    unnameable: tuple[Path, ...] = ()  # Spark cannot see names that are not UTF-8
    linked: tuple[Path, ...] = ()  # links to folders, which are not followed
    known: int = 0


def look_at(folder: Path, committed: Mapping[str, Unit]) -> Landing:
    """Compare the folder with what was committed. Reads no content."""
    latest = _latest_readings(committed)
    found: dict[str, list[Path]] = {name: [] for name in ("waiting", "rewritten", "empty", "unfinished", "unnameable")}
    oldest, known = None, 0
    found["linked"] = _linked_folders(folder)
    for path, stat in _files(folder):
        if not _is_named_finished(path, folder):
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


def put_away(
    receipts: Iterable[Receipt], landing: Path, archive: Path | None, *, just_read: bool
) -> tuple[int, list[OSError]]:
    """Move committed files to the archive, or delete them where there is none; returns how many, and what went wrong.

    Only a file that is still what was read, and was read whole, goes; one that was not read just now is compared by its
    content too. Safe to kill and to repeat: a file is first renamed, so that nobody can change which one it is, and a
    killed put-away is taken back by the next one.
    """
    gone, problems = 0, []
    for receipt in receipts:
        path = path_of(receipt.unit.source)
        try:
            if receipt.is_whole and _is_unit(path, receipt.unit):
                gone += _put_one_away(path, receipt, landing, archive, just_read=just_read)
        except FileNotFoundError:
            continue
        except OSError as problem:
            problems.append(problem)
    return gone, problems


def take_back(landing: Path) -> None:
    """Give files their names back that a killed put-away had renamed."""
    for leaving in landing.rglob(f".*{_LEAVING}"):
        _give_back(leaving, leaving.with_name(leaving.name[1:].removesuffix(_LEAVING)))


def archived(receipt: Receipt, landing: Path, archive: Path) -> tuple[Path, Path]:
    """Where a source lies if it was archived: under its name, or with its hash where that name was taken."""
    path, reading = path_of(receipt.unit.source), receipt.unit.source.partition("#")[2]
    inside = path.relative_to(landing) if path.is_relative_to(landing) else Path(path.name)
    plain = archive / inside.with_name(inside.name + (f"#{reading}" if reading else ""))
    return plain, plain.with_name(f"{plain.name}.{receipt.digest[:12]}")


def is_in_finished_place(path: Path, landing: Path) -> bool:
    """Neither the file nor any folder above it has a temporary name, or is a link to another folder.

    A folder that is linked into itself would be read again and again under other names.
    """
    is_linked = path.parent != landing and path.parent.resolve() != path.parent
    return _is_named_finished(path, landing) and not is_linked


def _is_named_finished(path: Path, landing: Path) -> bool:
    inside = path.relative_to(landing) if path.is_relative_to(landing) else Path(path.name)
    return all(is_finished(part) for part in inside.parts)


def _put_one_away(path: Path, receipt: Receipt, landing: Path, archive: Path | None, *, just_read: bool) -> bool:
    leaving = path.with_name(f".{path.name}{_LEAVING}")
    path.rename(leaving)
    if not _is_unit(leaving, receipt.unit) or not (just_read or _digest(leaving) == receipt.digest):
        _give_back(leaving, path)
        return False
    if archive is None:
        leaving.unlink()
        return True
    plain, hashed = archived(receipt, landing, archive)
    plain.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(leaving, hashed if plain.exists() else plain)  # a landing folder may be on another disk
    return True


def _give_back(leaving: Path, path: Path) -> None:
    """Back to its name, or if that was taken meanwhile to another: it is a new file then."""
    number = 0
    target = path
    while True:
        try:
            os.link(leaving, target)
        except FileExistsError:
            number += 1
            target = path.with_name(f"{path.stem}-{number}{path.suffix}")
        else:
            leaving.unlink()
            return


def _is_unit(path: Path, unit: Unit) -> bool:
    stat = path.stat()
    return (stat.st_size, stat.st_mtime_ns) == (unit.length, unit.modified_ns)


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


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


def _linked_folders(folder: Path) -> list[Path]:
    places = (Path(place, name) for place, names, _ in os.walk(folder) for name in names)
    return [place for place in places if place.is_symlink()]


def _is_text(path: Path) -> bool:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
