"""How does it begin? One keeper is started, or found; then it is waited for until all of Airflow answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from smelter.embedded.api import ask_health
from smelter.embedded.components import API_SERVER, DAG_PROCESSOR, SCHEDULER, TRIGGERER
from smelter.embedded.configuration import configured_port
from smelter.embedded.home import Home
from smelter.embedded.standing import Phase, Standing, read_standing
from smelter.embedded.stopping import KEEPER_PATIENCE_SECONDS, Say, bring_down
from smelter.errors import Refused, SmelterError, Unreachable
from smelter.supervise.lock import holder

DEFAULT_PORT = 8080
KEEPER_SECONDS = 240.0  # of which Airflow's own limit for its database is most, on a slow disk
HEALTHY_SECONDS = 180.0
MOST_DEATHS = 3
_POLL_SECONDS = 0.1
_KEEPER_LOG = "keeper"
_NO_ROOM_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Request:
    """What `smelt up` was asked for; no port means the one that it runs on or ran on, or the usual."""

    dags: Path
    port: int | None = None
    sample: bool = False


def running(home: Home) -> Standing | None:
    """What the living keeper keeps; nothing if none lives, or it has not yet said."""
    keeper, standing = holder(home.root), read_standing(home)
    return standing if keeper is not None and standing is not None and standing.keeper == keeper.pid else None


def is_sampled(home: Home) -> bool:
    """Does somebody want sample records?"""
    return home.sample.exists()


def start(
    home: Home,
    request: Request,
    environ: Mapping[str, str],
    say: Say,
    keeper: Sequence[str] = (sys.executable, "-m", "smelter.embedded.keeper"),
) -> Standing:
    """Have exactly one keeper with all of its components; a second run finds the first one's and changes nothing."""
    home.make()
    _let_it_stop(home)
    found = _wait_for_keeper(home, None, say) if holder(home.root) is not None else None
    if found is not None:
        _refuse_other_port(found, request.port)
        if request.sample:
            _want_sample(home, True)
        return found
    _want_sample(home, request.sample)
    launched = _launch(home, request, environ, keeper)
    standing = _wait_for_keeper(home, launched, say)
    if standing is None:
        raise _keeper_ended(home, launched.poll())
    _refuse_other_port(standing, request.port)
    return standing


def wait_until_healthy(home: Home, standing: Standing, say: Say, *, is_new: bool = True) -> None:
    """Wait for the four; if they do not come, the log to read is named. What was just started is then stopped again."""
    missing = [API_SERVER, SCHEDULER, DAG_PROCESSOR, TRIGGERER]
    began, since = time.monotonic(), standing.since if is_new else 0.0
    before = {child.name: child.restarts for child in standing.children}
    while missing:
        health = ask_health(standing.port)
        for name in [name for name in missing if health is not None]:
            if name == API_SERVER or (health is not None and health.is_alive(name, since)):
                missing.remove(name)
                say(name, time.monotonic() - began)
        if missing and (problem := _hopeless(home, missing, before, time.monotonic() - began)):
            raise _stopped_again(home, *problem) if is_new else _left_alone(home, *problem)
        time.sleep(_POLL_SECONDS if missing else 0)


def _let_it_stop(home: Home) -> None:
    """A keeper that is about to end is waited for: what it stops is started anew."""
    end = time.monotonic() + KEEPER_PATIENCE_SECONDS
    while (standing := running(home)) is not None and standing.phase is Phase.STOPPING and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)


def _launch(home: Home, request: Request, environ: Mapping[str, str], keeper: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process of its own session: neither Ctrl-C nor the end of this command reaches it."""
    words = [*keeper, home.root, request.port or configured_port(home) or DEFAULT_PORT, request.dags]
    with home.log_of(_KEEPER_LOG).open("ab") as log:
        return subprocess.Popen(
            [*map(str, words)],
            cwd=home.root,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait_for_keeper(home: Home, launched: subprocess.Popen[bytes] | None, say: Say) -> Standing | None:
    """Wait until the keeper starts its components; what it does before that is told by us.

    Nothing if there is no keeper any more: one that was found may have been at its very end.
    """
    began, end = time.monotonic(), time.monotonic() + KEEPER_SECONDS
    before: Phase | None = None
    while time.monotonic() < end:
        standing = running(home)
        phase = standing.phase if standing is not None else None
        if launched is not None and phase is not before:
            began = _tell(before, standing, began, say)
        before = phase
        if standing is not None and phase in (Phase.STARTING, Phase.RUNNING):
            return standing
        has_ended = launched is None or launched.poll() is not None
        if has_ended and holder(home.root) is None:
            return None
        time.sleep(_POLL_SECONDS)
    raise _stopped_again(home, f"the keeper did not come up within {KEEPER_SECONDS:.0f} s", _KEEPER_LOG)


def _tell(before: Phase | None, standing: Standing | None, began: float, say: Say) -> float:
    """Say what is done, and since when the next is being done."""
    now = time.monotonic()
    if before is None and standing is not None and standing.cleared:
        say(f"stopped {standing.cleared} processes that an earlier keeper had left", now - began)
    elif before is Phase.DATABASE:
        say("database", now - began)
    return now


def _keeper_ended(home: Home, code: int | None) -> SmelterError:
    """The keeper's own words: what it printed after its last fact."""
    said: list[str] = []
    for line in reversed(home.log_of(_KEEPER_LOG).read_text("utf-8", "replace").splitlines()[-20:]):
        if line[:4].isdigit():
            break
        said.insert(0, line)
    kind = Refused if code == Refused.exit_code else Unreachable
    if said:
        return kind("\n".join(said))
    if shutil.disk_usage(home.root).free < _NO_ROOM_BYTES:  # then it could not even say so
        return Unreachable("the disk is full", where=str(home.root), next_step="free some room and run it again")
    where, next_step = str(home.log_of(_KEEPER_LOG)), "read that log; then smelt up"
    return kind(f"the keeper ended before Airflow was up: code {code}", where=where, next_step=next_step)


def _refuse_other_port(standing: Standing, port: int | None) -> None:
    if port is not None and port != standing.port:
        raise Refused(
            f"the platform of this lake runs on port {standing.port}, not {port}",
            where=f"keeper, pid {standing.keeper}",
            data="nothing was changed",
            next_step=f"smelt up shows it; smelt down, then smelt up --port {port}, moves it",
        )


def _want_sample(home: Home, wanted: bool) -> None:
    home.sample.touch() if wanted else home.sample.unlink(missing_ok=True)


def _hopeless(home: Home, missing: Sequence[str], before: Mapping[str, int], seconds: float) -> tuple[str, str] | None:
    """Who does not come up, in words and by name; nothing while there is hope."""
    standing = running(home)
    if standing is None:
        raise _keeper_ended(home, None)
    for child in standing.children:
        deaths = child.restarts - before.get(child.name, 0)
        if deaths >= MOST_DEATHS and child.name in missing:
            return f"{child.name} died {deaths} times while it was started", child.name
    return (f"{missing[0]} was not healthy after {seconds:.0f} s", missing[0]) if seconds > HEALTHY_SECONDS else None


def _left_alone(home: Home, what: str, name: str) -> Unreachable:
    return Unreachable(
        what,
        where=str(home.log_of(name)),
        data="the platform was up before and is left as it is; its streams go on",
        next_step="read that log; smelt down, then smelt up, starts all of it anew",
    )


def _stopped_again(home: Home, what: str, name: str) -> Unreachable:
    bring_down(home, lambda _what, _seconds: None)
    return Unreachable(
        what,
        where=str(home.log_of(name)),
        data="everything was stopped again; the lake is as it was",
        next_step="read that log; then smelt up",
    )
