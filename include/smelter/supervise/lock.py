"""One driver per stream: the driver itself holds a lock for its life, and the kernel lets go of it when it dies."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

from smelter.errors import Refused
from smelter.processes import start_ticks, this_host

LOCK = "lock"
STREAM, DRAIN, RECOVER, REREAD = "stream", "drain", "recover", "reread"  # what the holder of a stream's lock does
OF_A_STREAM = (STREAM, DRAIN, RECOVER, REREAD)


@dataclass(frozen=True)
class Holder:
    """Who holds a stream's lock. `run` names this life of the driver, wherever it runs; the pid is for its own host,
    where the kernel's start time tells it from another that has the same number later."""

    pid: int
    started_ticks: int
    since: float
    run: str = ""
    host: str = ""
    role: str = STREAM

    @property
    def is_here(self) -> bool:
        """Can a signal reach it? Its pid is of this host, and is still the same process."""
        return self.host == this_host() and start_ticks(self.pid) == self.started_ticks


@contextmanager
def only_driver(folder: Path, stream: str, role: str = STREAM) -> Iterator[Holder]:
    """Be the stream's driver; a second one is refused with the pid of the first, also if that one is stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as held:
        if not _taken(held):
            raise _refusal(stream, role, _read(folder))
        held.truncate(0)
        pid = os.getpid()
        me = Holder(pid, start_ticks(pid) or 0, time.time(), secrets.token_hex(4), this_host(), role)
        held.write(json.dumps(asdict(me)))
        held.flush()
        yield me


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
        said = json.loads((folder / LOCK).read_text())
        return Holder(**{name.name: said[name.name] for name in fields(Holder) if name.name in said})
    except (OSError, ValueError, TypeError):  # its driver has the lock and has not yet written who it is
        return None


def _refusal(stream: str, role: str, found: Holder | None) -> Refused:
    """A second one of whatever it is; only a stream's driver can be stopped by name."""
    who = f"pid {found.pid}, since {time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(found.since))}" if found else "?"
    if role not in OF_A_STREAM:
        return Refused(f"there is a {stream} already: {who}", data="nothing was changed", next_step="wait for its end")
    return Refused(
        f"the stream {stream} already has a driver: {who}",
        data="nothing was read or changed",
        next_step=f"wait for it, or stop it: smelt stream stop {stream}",
    )
