"""Start drivers for others: who asks may live in another container, and shares only the lake's run folder with us.

A request to start is a file, and so is its answer. Safe to kill and to repeat: a request that nobody answered is taken
by the next server, one that is too old is dropped, and a driver outlives the server that started it.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from smelter.errors import SmelterError, Unreachable
from smelter.run_folders import server_folder, stream_folder
from smelter.supervise.driver import START_SECONDS, Driver, Launch, start, wait_for
from smelter.supervise.lock import holder, only_driver
from smelter.supervise.requests import put_file

SERVER = "server"
_REQUEST = "start-request.json"
_ANSWER = "start-answer.json"
_OLDEST_SECONDS = 2 * START_SECONDS


@dataclass(frozen=True)
class _Request:
    id: str
    by: str
    at: float


@dataclass(frozen=True)
class _Answer:
    id: str
    run: str = ""
    pid: int = 0
    is_new: bool = False
    problem: str = ""


@contextmanager
def serving(lake: Path) -> Iterator[None]:
    """Be the lake's only server of streams."""
    with only_driver(server_folder(lake), "server of streams", SERVER):
        yield


def ask_to_start(lake: Path, stream: str, by: str, patience_seconds: float = START_SECONDS) -> Driver:
    """Have the server of this lake start the driver, or find it; says so if nobody serves."""
    folder = stream_folder(lake, stream)
    folder.mkdir(parents=True, exist_ok=True)
    if holder(server_folder(lake)) is None:
        raise _nobody_serves(stream)
    request = _Request(secrets.token_hex(8), by, time.time())
    put_file(folder / _REQUEST, json.dumps(asdict(request)))
    answer = wait_for(lambda: _answer_to(folder, request.id), time.monotonic() + patience_seconds)
    if answer is None:
        (folder / _REQUEST).unlink(missing_ok=True)
        raise _nobody_serves(stream)
    if answer.problem:
        raise Unreachable(answer.problem, where="the server of streams", next_step="smelt stream status")
    return Driver(answer.run, answer.pid, answer.is_new)


def answer_requests(lake: Path, launch_of: Callable[[str], Launch], say: Callable[[str], None]) -> None:
    """Take every request that waits, once; called again and again by whoever holds the server's lock."""
    for place in sorted(stream_folder(lake, "").glob(f"*/{_REQUEST}")):
        request = _read_request(place)
        place.unlink(missing_ok=True)
        if request is not None and time.time() - request.at < _OLDEST_SECONDS:
            stream = place.parent.name
            answer = _started(place.parent, stream, request, launch_of)
            put_file(place.parent / _ANSWER, json.dumps(asdict(answer)))
            say(f"{stream}: {answer.problem or f'driver {answer.run}, pid {answer.pid}'} (asked by {request.by})")
    _reap()


def _started(folder: Path, stream: str, request: _Request, launch_of: Callable[[str], Launch]) -> _Answer:
    try:
        driver = start(folder, stream, launch_of(stream))
    except SmelterError as problem:
        return _Answer(request.id, problem=str(problem))
    return _Answer(request.id, driver.run, driver.pid, driver.is_new)


def _read_request(place: Path) -> _Request | None:
    try:
        said = json.loads(place.read_text("utf-8"))
        return _Request(str(said["id"]), str(said["by"]), float(said["at"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _answer_to(folder: Path, request: str) -> _Answer | None:
    with suppress(OSError, ValueError, TypeError):
        answer = _Answer(**json.loads((folder / _ANSWER).read_text("utf-8")))
        return answer if answer.id == request else None
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
