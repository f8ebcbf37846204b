"""Start a stream's driver so that nobody owns it, or find the one that is there. Never two, whoever asks at once.

Safe to kill and to repeat: the driver takes its own lock, so a second one that got past us is refused by the kernel.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from smelter.errors import Refused, Unreachable
from smelter.supervise.lock import STREAM, Holder, holder
from smelter.supervise.requests import Wish, wanted, who_asked_to_stop

ERRORS = "driver.err"
START_SECONDS = 120.0
STOP_SECONDS = 120.0
_POLL_SECONDS = 0.1
_TURN = "start.lock"
T = TypeVar("T")


@dataclass(frozen=True)
class Driver:
    """The driver of a stream: which life of it, and whether we started it or found it."""

    run: str
    pid: int
    is_new: bool


@dataclass(frozen=True)
class Launch:
    """How a driver is started: the words of its command, and its environment."""

    words: Sequence[str]
    environment: Mapping[str, str]


def start(folder: Path, stream: str, launch: Launch, patience_seconds: float = START_SECONDS) -> Driver:
    """Start the driver in a session of its own, or find the living one; one that is about to stop is waited for."""
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + patience_seconds
    with _one_at_a_time(folder, stream, end):
        said = wanted(folder)
        if said.wish is Wish.STOP:
            raise Refused(f"the stream {stream} is {said}", next_step=f"smelt stream start {stream}")
        found = wait_for(lambda: _settled(folder), end)
        if found is None:
            raise _is_in_the_way(folder, stream)
        return found if found.run else _spawn(folder, stream, launch, time.monotonic() + patience_seconds)


def is_alive(folder: Path, run: str) -> bool:
    """Does this life of the driver still hold the lock?"""
    found = holder(folder)
    return found is not None and found.run == run


def kill(folder: Path, run: str) -> bool:
    """End this life of the driver at once, if it is on this host; the lake is not harmed. Says whether it is gone."""
    found = holder(folder)
    if found is not None and found.run == run and found.is_here:
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGKILL)
    return bool(wait_for(lambda: not is_alive(folder, run), time.monotonic() + 10))


def wait_for(ask: Callable[[], T], end: float) -> T:
    """Ask until the answer is yes, or until the moment `end`; the last answer."""
    while not (answer := ask()) and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    return answer


def _settled(folder: Path) -> Driver | None:
    """The living driver, or one without a name if there is none; nothing while somebody is about to leave."""
    found = holder(folder)
    if found is None:
        return Driver("", 0, is_new=True)
    is_leaving = found.role != STREAM or not found.run or who_asked_to_stop(folder, found.run) is not None
    return None if is_leaving else Driver(found.run, found.pid, is_new=False)


def _spawn(folder: Path, stream: str, launch: Launch, end: float) -> Driver:
    """A process of its own session that inherits nothing; it lives on when we die."""
    errors = folder / ERRORS
    if errors.exists():
        errors.replace(errors.with_suffix(".err.1"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND  # so that maintenance may empty it under its writer
    pid = os.posix_spawn(
        launch.words[0],
        list(launch.words),
        dict(launch.environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (
                os.POSIX_SPAWN_OPEN,
                1,
                os.devnull,
                os.O_WRONLY,
                0,
            ),  # its log, which is turned over, has it all
            (os.POSIX_SPAWN_OPEN, 2, str(errors), flags, 0o644),
        ],
        setsid=True,
    )
    found = wait_for(lambda: _became_driver(folder, pid) or _exit_code(pid), end)
    if isinstance(found, Holder):
        return Driver(found.run, found.pid, is_new=True)
    if found is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    how = f"ended with {found.code}" if found is not None else "did not begin in time, and was ended"
    raise Unreachable(
        f"the driver of {stream} {how}: {_last_words(errors)}",
        where=str(errors),
        data="nothing was read or changed",
        next_step=f"smelt ingest {stream} --drain says more",
    )


@dataclass(frozen=True)
class _Exit:
    code: int


def _became_driver(folder: Path, pid: int) -> Holder | None:
    found = holder(folder)
    return found if found is not None and found.pid == pid and found.run else None


def _exit_code(pid: int) -> _Exit | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return _Exit(os.waitstatus_to_exitcode(status)) if ended else None


def _last_words(errors: Path) -> str:
    with suppress(OSError):
        return " ".join(errors.read_text("utf-8", "backslashreplace").split())[-1000:] or "it said nothing"
    return "it said nothing"


@contextmanager
def _one_at_a_time(folder: Path, stream: str, end: float) -> Iterator[None]:
    with (folder / _TURN).open("a") as turn:
        if not wait_for(lambda: _taken(turn.fileno()), end):
            raise Refused(f"somebody else is starting the stream {stream}", next_step=f"smelt stream status {stream}")
        yield


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_in_the_way(folder: Path, stream: str) -> Refused:
    found = holder(folder)
    who = f"pid {found.pid} ({found.role})" if found is not None else "somebody"
    return Refused(
        f"the stream {stream} is still held by {who}, which is to end",
        data="nothing was started or changed",
        next_step=f"smelt stream status {stream}; smelt stream stop {stream} --now ends it at once",
    )
