"""Start drivers for others: who asks may live in another container, and shares only the lake's run folder with us.

A request to start is a file, and so is its answer, both with the asker's own number. Safe to kill and to repeat: a
request that nobody took is taken by the next server, one that is too old is dropped, and a driver outlives its server.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from smelter.errors import Refused, SmelterError, Unreachable
from smelter.run_folders import server_folder, stream_folder
from smelter.supervise.driver import START_SECONDS, Driver, Launch, start, wait_for
from smelter.supervise.lock import holder, only_driver
from smelter.supervise.requests import put_file

SERVER = "server"
_REQUEST, _ANSWER = ".request", ".answer"
_OLDEST_SECONDS = 2 * START_SECONDS
_SOONER_SECONDS = 30.0  # the server gives up before its asker does, so that the reason reaches the asker


@dataclass(frozen=True)
class _Answer:
    run: str = ""
    pid: int = 0
    is_new: bool = False
    problem: str = ""
    exit_code: int = 0


@contextmanager
def serving(lake: Path) -> Iterator[None]:
    """Be the lake's only server of streams."""
    with only_driver(server_folder(lake), "server of streams", SERVER):
        yield


def ask_to_start(lake: Path, stream: str, by: str, patience_seconds: float = START_SECONDS) -> Driver:
    """Have the server of this lake start the driver, or find it; says so if nobody serves."""
    folder, number = stream_folder(lake, stream), f"start-{secrets.token_hex(8)}"
    folder.mkdir(parents=True, exist_ok=True)
    if holder(server_folder(lake)) is None:
        raise _nobody_serves(stream)
    request, place = folder / f"{number}{_REQUEST}", folder / f"{number}{_ANSWER}"
    put_file(request, by)
    try:
        answer = wait_for(lambda: _read_answer(place), time.monotonic() + patience_seconds)
    finally:
        request.unlink(missing_ok=True)
        place.unlink(missing_ok=True)
    if answer is None:
        raise _nobody_serves(stream)
    if answer.problem:
        kind = Refused if answer.exit_code == Refused.exit_code else Unreachable
        raise kind(answer.problem, where="the server of streams")
    return Driver(answer.run, answer.pid, answer.is_new)


class Server:
    """Takes requests as they come, one at a time for each stream: a slow start holds up nobody else's."""

    def __init__(self, lake: Path, launch_of: Callable[[str], Launch], say: Callable[[str], None]) -> None:
        self._lake, self._launch_of, self._say = lake, launch_of, say
        self._starting: dict[str, threading.Thread] = {}

    def look(self) -> None:
        """Begin with what waits; called again and again by whoever holds the server's lock."""
        self._starting = {name: one for name, one in self._starting.items() if one.is_alive()}
        if not self._starting:  # a start waits for its own child
            _reap()
        for request in sorted(stream_folder(self._lake, "").glob(f"*/*{_REQUEST}")):
            stream = request.parent.name
            with suppress(OSError):  # the asker has taken it back
                is_old = time.time() - request.stat().st_mtime > _OLDEST_SECONDS
                if is_old:
                    request.unlink()
                elif stream not in self._starting:
                    self._begin(stream, request, request.read_text("utf-8", "replace"))

    def _begin(self, stream: str, request: Path, by: str) -> None:
        request.unlink()
        self._starting[stream] = threading.Thread(target=self._answer, args=(stream, request, by), daemon=True)
        self._starting[stream].start()

    def _answer(self, stream: str, request: Path, by: str) -> None:
        answer = self._started(stream)
        self._say(f"{stream}: {answer.problem or f'driver {answer.run}, pid {answer.pid}'} (asked by {by})")
        try:
            put_file(request.with_suffix(_ANSWER), json.dumps(asdict(answer)))
        except OSError as problem:  # a full disk must not end the server; the asker is told that nobody answered
            self._say(f"{stream}: the answer could not be written: {problem.strerror}")

    def _started(self, stream: str) -> _Answer:
        folder, patience = stream_folder(self._lake, stream), START_SECONDS - _SOONER_SECONDS
        try:
            driver = start(folder, stream, self._launch_of(stream), patience)
        except SmelterError as problem:
            return _Answer(problem=str(problem), exit_code=problem.exit_code)
        except OSError as problem:
            said = f"the driver could not be started: {problem.strerror or problem}"
            return _Answer(problem=said, exit_code=Unreachable.exit_code)
        return _Answer(driver.run, driver.pid, driver.is_new)


def _read_answer(place: Path) -> _Answer | None:
    with suppress(OSError, ValueError, TypeError):
        return _Answer(**json.loads(place.read_text("utf-8")))
    return None


def _reap() -> None:
    """Drivers that ended are our children, and would stay as zombies."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _nobody_serves(stream: str) -> Unreachable:
    return Unreachable(
        f"the stream {stream} is to be started by a server, and none answers",
        data="nothing was started or changed",
        next_step="smelt stream serve, where the drivers are to live; or unset SMELTER_DRIVERS to start them here",
    )
