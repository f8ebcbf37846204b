"""One builder per table: whoever changes rows that are already there holds the table's lease; the stream does not.

The lease dies with its holder: it is a lock on a file. But a holder that was killed may leave a JVM behind, which could
still commit for a moment, so the file names it too, and the next holder waits until it is gone.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from smelter.errors import Refused, SmelterError
from smelter.lake import layout
from smelter.lake.home import Lake
from smelter.lake.spark_errors import Unsure
from smelter.processes import start_ticks

DEFAULT_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.1


class Held(Refused):
    """Somebody else has the lease, and did not give it back while we waited."""


class _Process(msgspec.Struct, frozen=True):
    pid: int
    started_ticks: int

    @property
    def is_alive(self) -> bool:
        return start_ticks(self.pid) == self.started_ticks


class _Holder(msgspec.Struct, frozen=True):
    what: str
    since: float
    process: _Process
    also: list[_Process] = []

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.since))
        return f"{self.what} (pid {self.process.pid}, since {since})"


class Lease:
    """A lease that is held."""

    def __init__(self, file: IO[bytes], what: str) -> None:
        self._file = file
        self._holder = _Holder(what, time.time(), _process(os.getpid()))
        self._write(msgspec.json.encode(self._holder))

    def share_with(self, pid: int | None) -> None:
        """Another process may write for the holder: should it outlive the holder, the lease is not free."""
        if pid is not None:
            self._holder = msgspec.structs.replace(self._holder, also=[*self._holder.also, _process(pid)])
            self._write(msgspec.json.encode(self._holder))

    def give_back(self) -> None:
        """What the holder began has come to its end, also in other processes."""
        self._write(b"")

    def _write(self, content: bytes) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(content)
        self._file.flush()


@contextmanager
def lease(
    lake: Lake,
    namespace: str,
    name: str,
    what: str,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    say: Callable[[str], None] = lambda _line: None,
) -> Iterator[Lease]:
    """Hold the lease of a table; if another has it, say so once, wait, and then be refused with the holder's name."""
    place = lake.root / layout.RUN / "leases" / f"{namespace}.{name}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a+b") as file:
        _wait(file, place, f"{namespace}.{name}", wait_seconds, say)
        held = Lease(file, what)
        try:
            yield held
        except SmelterError as problem:
            if not isinstance(problem, Unsure):  # then a JVM that was left behind may still be at work
                held.give_back()
            raise
        held.give_back()  # not after another error either


def holder_of(lake: Lake, namespace: str, name: str) -> str | None:
    """Who holds the lease now, in words; nothing if nobody does."""
    place = lake.root / layout.RUN / "leases" / f"{namespace}.{name}"
    try:
        with place.open("rb") as file:
            return None if _is_free(file, place, fcntl.LOCK_SH) else str(_read(place) or "somebody")
    except FileNotFoundError:
        return None


def _wait(file: IO[bytes], place: Path, table: str, wait_seconds: float, say: Callable[[str], None]) -> None:
    end = time.monotonic() + wait_seconds
    is_told = False
    while not _is_free(file, place, fcntl.LOCK_EX):
        found = _read(place)
        if time.monotonic() >= end:
            raise Held(
                f"{table} is being changed by {found or 'somebody'}",
                where=str(place),
                data="nothing was read or changed",
                next_step="wait for it and run it again, or wait longer with --wait SECONDS",
            )
        if not is_told:
            say(f"{table} is being changed by {found or 'somebody'}; waiting up to {wait_seconds:.0f} s")
            is_told = True
        time.sleep(min(_POLL_SECONDS, max(0.0, end - time.monotonic())))


def _is_free(file: IO[bytes], place: Path, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    left = _read(place)
    is_ours = left is not None and left.process == _process(os.getpid())  # what we began here has ended: we are here
    if left is not None and not is_ours and any(process.is_alive for process in left.also):
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
    return True


def _read(place: Path) -> _Holder | None:
    try:
        return msgspec.json.decode(place.read_bytes(), type=_Holder)
    except (OSError, msgspec.DecodeError):  # empty: nobody, or one who has not yet written who it is
        return None


def _process(pid: int) -> _Process:
    return _Process(pid, start_ticks(pid) or 0)
