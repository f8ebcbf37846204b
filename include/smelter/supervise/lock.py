"""One driver per stream: the driver itself holds a lock for its life, and the kernel lets go of it when it dies."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from smelter.errors import Refused
from smelter.processes import start_ticks

LOCK = "lock"


@dataclass(frozen=True)
class Holder:
    """Who holds a stream's lock; the kernel's start time tells a pid from another that has the same number later."""

    pid: int
    started_ticks: int
    since: float


@contextmanager
def only_driver(folder: Path, stream: str) -> Iterator[None]:
    """Be the stream's driver; a second one is refused with the pid of the first, also if that one is stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as held:
        if not _taken(held):
            raise _refusal(stream, _read(folder))
        held.truncate(0)
        held.write(json.dumps(asdict(Holder(os.getpid(), start_ticks(os.getpid()) or 0, time.time()))))
        held.flush()
        yield


def holder(folder: Path) -> Holder | None:
    """The driver that is alive now, or nothing. Asks the lock, not the pid."""
    try:
        with (folder / LOCK).open() as asked:
            fcntl.flock(asked, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return _read(folder) or Holder(0, 0, 0.0)
    return None


def _taken(held: IO[str]) -> bool:
    """Try for the blink of an eye: somebody who only asks holds the lock for a moment too."""
    for _ in range(10):
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return True
    return False


def _read(folder: Path) -> Holder | None:
    try:
        return Holder(**json.loads((folder / LOCK).read_text()))
    except (OSError, ValueError, TypeError):  # its driver has the lock and has not yet written who it is
        return None


def _refusal(stream: str, found: Holder | None) -> Refused:
    who = f"pid {found.pid}, since {time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(found.since))}" if found else "?"
    return Refused(
        f"the stream {stream} already has a driver: {who}",
        data="nothing was read or changed",
        next_step=f"wait for it, or stop it: kill {found.pid}" if found else "wait for it",
    )
