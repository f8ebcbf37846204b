"""Files that nobody needs are not deleted but moved, with a list of what was where, and can be put back.

Safe to kill and to repeat: the list is on disk before the first file moves, a file is at its place or in the trash at
every moment, and putting back looks at what is in the trash, not at what was meant to be.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from smelter.errors import Refused, Unreachable
from smelter.lake import layout
from smelter.lake.durable import replace
from smelter.lake.home import Lake
from smelter.maintenance.strays import Stray

MANIFEST = "manifest.json"
_RUN = re.compile(r"[a-z]+:[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")


class Moved(msgspec.Struct, frozen=True):
    """One file in the trash: whose it was, where it was, and under which name it lies here."""

    table: str
    path: str
    name: str
    size: int
    modified_ns: int


class Manifest(msgspec.Struct, frozen=True):
    """What one run moved, and until when it is kept."""

    run: str
    emptied_after: datetime
    files: list[Moved]


@dataclass(frozen=True)
class Restored:
    """What was put back, and what could not be."""

    run: str
    files: int
    bytes: int
    taken: tuple[str, ...] = ()  # places where another file is by now
    gone: int = 0  # that are not in the trash


def move_to_trash(lake: Lake, run: str, table: str, strays: Sequence[Stray], keep: timedelta) -> list[Moved]:
    """Move files, each with one rename; a file that is not what was seen stays where it is."""
    folder = _folder(lake, run)
    folder.mkdir(parents=True, exist_ok=True)
    before = read_manifest(folder)
    known = before.files if before is not None else []
    files = [
        Moved(table, one.path, f"{len(known) + number:06}-{Path(one.path).name}", one.size, one.modified_ns)
        for number, one in enumerate(strays)
    ]
    until = datetime.now(UTC) + keep
    manifest = Manifest(run, max(until, before.emptied_after) if before is not None else until, [*known, *files])
    replace(folder / MANIFEST, msgspec.json.encode(manifest))
    return [file for file in files if _move(file, folder)]


def restore(lake: Lake, run: str) -> Restored:
    """Put everything of a run back where it was; a place that is taken by now is left alone, and named."""
    folder = _folder(lake, run)
    manifest = read_manifest(folder)
    if manifest is None:
        known = ", ".join(one.run for one in manifests(lake)) or "none"
        raise Refused(
            f"there is no trash of {run}",
            where=f"{lake.root / layout.TRASH}: {known}",
            data="nothing was changed",
            next_step="smelt maintain history TABLE names the runs; what was emptied cannot come back",
        )
    back, taken, gone = [], [], 0
    for file in manifest.files:
        place, here = Path(file.path), folder / file.name
        if not here.exists():
            gone += not place.exists()
        elif place.exists():
            taken.append(file.path)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            _carry(here, place)
            back.append(file)
    if not taken:
        _remove_if_empty(folder)
    return Restored(run, len(back), sum(one.size for one in back), tuple(taken), gone)


def manifests(lake: Lake) -> Iterator[Manifest]:
    """Everything that is in the trash, oldest first."""
    for folder in sorted((lake.root / layout.TRASH).glob("*")):
        found = read_manifest(folder)
        if found is not None:
            yield found


def overdue(lake: Lake, now: datetime) -> list[Manifest]:
    """What has been in the trash long enough."""
    return [one for one in manifests(lake) if one.emptied_after <= now]


def empty(lake: Lake, overdue: Iterable[Manifest]) -> int:
    """Remove what has been in the trash long enough; the bytes that this frees."""
    freed = 0
    for manifest in overdue:
        folder = _folder(lake, manifest.run)
        freed += sum(path.lstat().st_size for path in folder.iterdir())
        shutil.rmtree(folder)
    return freed


def read_manifest(folder: Path) -> Manifest | None:
    """The list of one folder of the trash; nothing if there is none."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.DecodeError as problem:
        raise Unreachable(
            f"the list of what is in the trash cannot be read: {problem}",
            where=str(folder / MANIFEST),
            data="the files are in the same folder, under a number and their names",
            next_step="move the folder away, or put the files back by hand",
        ) from problem


def _folder(lake: Lake, run: str) -> Path:
    if not _RUN.fullmatch(run):
        raise Refused(
            "that is not the name of a run, such as maintain:20260101-120000-0a1b",
            data="nothing was changed",
            next_step="smelt maintain history TABLE names the runs",
        )
    return lake.root / layout.TRASH / run.replace(":", "-")


def _move(file: Moved, folder: Path) -> bool:
    source = Path(file.path)
    try:
        stat = source.lstat()
        if (stat.st_size, stat.st_mtime_ns) != (file.size, file.modified_ns):
            return False
        _carry(source, folder / file.name)
    except FileNotFoundError:
        return False
    return True


def _carry(source: Path, target: Path) -> None:
    """One rename; where another disk is behind a link, a copy that is whole before the file goes."""
    try:
        source.rename(target)
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
        part = target.with_name(f".{target.name}.part")
        shutil.copy2(source, part)
        with part.open("rb") as copied:
            os.fsync(copied.fileno())
        part.rename(target)
        source.unlink()


def _remove_if_empty(folder: Path) -> None:
    """The run may still be moving files: then its folder stays, with its list."""
    if all(one.name == MANIFEST for one in folder.iterdir()):
        (folder / MANIFEST).unlink()
        with suppress(OSError):
            folder.rmdir()
