"""Logs, scratch folders and checkpoints that were set aside stay within limits. What processes ask each other by stays.

Safe to kill and to repeat: it only removes. A log is copied and then emptied in place, because whoever has it open goes
on appending to the same file: Spark's log and the driver's are turned over by their writers, but what a JVM or a driver
says on its standard error goes into a file that nobody else can take away from it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex

from smelter.errors import Refused
from smelter.lake import layout
from smelter.lake.checkpoint import ASIDE
from smelter.lake.home import Lake
from smelter.lake.lease import holder_of, lease
from smelter.lake.session import SCRATCH
from smelter.run_folders import airflow_home
from smelter.supervise.lock import LOCK, holder

MOST_LOG_BYTES = 50_000_000
LOG_BYTES_KEPT = 25_000_000  # the newest, in NAME.old, when a log has become too large
QUIET = timedelta(days=1)  # nothing changed in a scratch folder for so long: beside the locks, for sessions without one
ASIDE_KEPT = timedelta(days=30)
_LOG = re.compile(r".+\.(log|err)(\.\d+)?")
_JOBS = "jobs"


@dataclass(frozen=True)
class Leftover:
    """Something in the lake's folders that may go, or went."""

    path: Path
    bytes: int
    why: str


def due(lake: Lake, now: datetime) -> list[Leftover]:
    """What may go; removes nothing."""
    return [*_logs(lake), *_scratch(lake, now), *_set_aside(lake, now)]


def tidy(lake: Lake, now: datetime) -> list[Leftover]:
    """Remove what may go, and say what did."""
    logs, scratch, aside = list(_logs(lake)), list(_scratch(lake, now)), list(_set_aside(lake, now))
    for log in logs:
        _cut(log.path)
    scratch = [one for one in scratch if _remove_unused(lake, one.path)]
    for one in aside:
        shutil.rmtree(one.path, ignore_errors=True)
    return [*logs, *scratch, *aside]


def _logs(lake: Lake) -> Iterator[Leftover]:
    """Logs that are too large; Airflow's are its own housekeeping's."""
    for place, folders, names in os.walk(lake.root / layout.RUN):
        folders[:] = [name for name in folders if Path(place, name) != airflow_home(lake.root) and name != SCRATCH]
        for path in (Path(place, name) for name in sorted(names) if _LOG.fullmatch(name)):
            size = _size(path)
            if size > MOST_LOG_BYTES:
                yield Leftover(path, size - LOG_BYTES_KEPT, f"a log of more than {MOST_LOG_BYTES // 10**6} MB")


def _cut(path: Path) -> None:
    """Keep the newest part in NAME.old and empty the log; a line that is written at that very moment may be lost."""
    with path.open("r+b") as log, path.with_name(f"{path.name}.old").open("wb") as kept:
        log.seek(-LOG_BYTES_KEPT, os.SEEK_END)
        log.readline()  # the end of a line whose beginning goes
        shutil.copyfileobj(log, kept)
        log.truncate(0)


def _scratch(lake: Lake, now: datetime) -> Iterator[Leftover]:
    """What sessions left that were killed: nobody has the folder's lock or names it, and nothing in it is new."""
    run = lake.root / layout.RUN
    for path in sorted([*run.glob(f"jobs/*/{SCRATCH}*"), *run.glob(f"streams/*/{SCRATCH}*")]):
        is_quiet = path.is_dir() and not path.is_symlink() and _newest(path) < (now - QUIET).timestamp()
        if is_quiet and not _is_held(lake, path.parent) and not _is_in_use(path):
            yield Leftover(path, _size(path), "scratch files of a session that is gone")


def _is_held(lake: Lake, folder: Path) -> bool:
    """Is there a living session? A driver whose lock somebody removed may still live."""
    if folder.parent.name == _JOBS:
        return holder_of(lake, *_table_of(folder)) is not None
    return not (folder / LOCK).exists() or holder(folder) is not None


def _remove_unused(lake: Lake, scratch: Path) -> bool:
    """One rename under the lock, so that whoever starts just then finds nothing and makes its own; then files go."""
    gone = scratch.with_name(f"{SCRATCH}.gone-{token_hex(4)}")
    with suppress(Refused, BlockingIOError, FileNotFoundError), _alone(lake, scratch.parent):
        scratch.rename(gone)
    if not gone.exists():
        return False
    shutil.rmtree(gone, ignore_errors=True)
    return True


@contextmanager
def _alone(lake: Lake, folder: Path) -> Iterator[None]:
    """Hold what a session of this folder holds for its life; nothing is written into a driver's lock."""
    if folder.parent.name == _JOBS:
        with lease(lake, *_table_of(folder), "smelt maintain, scratch files", wait_seconds=0):
            yield
    else:
        with (folder / LOCK).open() as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield


def _is_in_use(folder: Path) -> bool:
    """Does a process of this machine name the folder on its command line, as a JVM does, or have a file of it open?"""
    name = os.fsencode(folder)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if name in (process / "cmdline").read_bytes():
                return True
            if any(os.fsencode(handle.readlink()).startswith(name) for handle in (process / "fd").iterdir()):
                return True
    return False


def _set_aside(lake: Lake, now: datetime) -> Iterator[Leftover]:
    """Checkpoints, and entries of them, that Spark could not use: kept for a while for whoever wants to know why."""
    folder = lake.root / layout.CHECKPOINTS
    for path in sorted([*folder.glob(f".*-{ASIDE}-*"), *folder.glob(f"*/{ASIDE}")]):
        moved = max((one.lstat().st_ctime for one in (path, *path.rglob("*"))), default=0.0)  # a move sets it
        if not path.is_symlink() and moved < (now - ASIDE_KEPT).timestamp():
            yield Leftover(path, _size(path), f"set aside more than {ASIDE_KEPT.days} days ago")


def _table_of(folder: Path) -> tuple[str, str]:
    """Whoever builds a table has a folder of its name, see `Lake.job_folder`."""
    namespace, _, name = folder.name.partition(".")
    return namespace, name


def _newest(path: Path) -> float:
    moments = [path.lstat().st_mtime]
    for one in path.rglob("*"):
        with suppress(FileNotFoundError):
            moments.append(one.lstat().st_mtime)
    return max(moments)


def _size(path: Path) -> int:
    """The bytes under a path, without following links; what goes meanwhile has none."""
    total = 0
    for one in (path, *path.rglob("*")) if path.is_dir() and not path.is_symlink() else (path,):
        with suppress(FileNotFoundError):
            total += 0 if one.is_dir() or one.is_symlink() else one.lstat().st_size
    return total
