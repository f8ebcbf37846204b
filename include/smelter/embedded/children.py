"""The keeper's children: started, restarted when they die, written down, and stopped in order."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from smelter.embedded.components import SAMPLE, SCHEDULER, Component
from smelter.embedded.home import Home
from smelter.embedded.standing import Child, Phase, Standing, write_standing
from smelter.embedded.stopping import end_idle_workers, stop_children
from smelter.errors import SmelterError
from smelter.processes import start_ticks

MOST_LOG_BYTES = 20 * 1024 * 1024
_LONGEST_PAUSE_SECONDS = 30.0
_STEADY_SECONDS = 60.0  # whoever lived that long may be restarted at once again
_LOOK_AT_LOGS_SECONDS = 60.0
_LOOK_AT_WORKERS_SECONDS = 15.0


def say(fact: str, **numbers: object) -> None:
    """One line of the keeper's log: a fact with numbers."""
    words = " ".join(f"{name}={value}" for name, value in numbers.items())
    with suppress(OSError):  # a full disk must not end the keeper
        print(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {fact} {words}".rstrip(), flush=True)


@dataclass
class _Kept:
    """A component with the process that it is at the moment; `make` says anew what to run when it is restarted."""

    name: str
    make: Callable[[], Component]
    process: subprocess.Popen[bytes]
    ticks: int
    began: float
    restarts: int = 0
    in_a_row: int = 0
    due: float | None = None  # when to restart it; nothing while it lives

    @property
    def child(self) -> Child:
        return Child(self.name, self.process.pid, self.ticks, self.restarts)


class Children:
    """Knows which processes there should be, and sees to it that there are."""

    def __init__(self, home: Home, port: int) -> None:
        self._home, self._port, self._since = home, port, time.time()
        self._phase, self.cleared = Phase.DATABASE, 0
        self._kept: dict[str, _Kept] = {}
        self._logs_looked_at = self._workers_looked_at = time.monotonic()

    def enter(self, phase: Phase) -> None:
        """Tell how far the keeper has come."""
        self._phase = phase
        self._write()

    def start(self, make: Callable[[], Component]) -> None:
        """Start a component in a session of its own."""
        component = make()
        process, ticks = self._spawn(component)
        self._kept[component.name] = _Kept(component.name, make, process, ticks, time.monotonic())
        say("component_started", name=component.name, pid=process.pid)
        self._write()

    def restart_the_dead(self) -> None:
        """Restart who has died, after a pause that doubles while it goes on dying."""
        for kept in self._kept.values():
            if kept.due is None and kept.process.poll() is not None:
                self._note_end(kept)
            if kept.due is not None and time.monotonic() >= kept.due:
                self._restart(kept)

    def clear_workers(self) -> None:
        """A scheduler that was killed leaves its workers behind; those of them that have a task finish it first."""
        scheduler = self._kept.get(SCHEDULER)
        if (
            scheduler is not None
            and scheduler.restarts
            and time.monotonic() - self._workers_looked_at > _LOOK_AT_WORKERS_SECONDS
        ):
            self._workers_looked_at = time.monotonic()
            if ended := end_idle_workers(self._home, scheduler.process.pid):
                say("idle_workers_ended", workers=ended)

    def keep_sample(self, make: Callable[[], Component], *, is_wanted: bool) -> None:
        """Have the producer running while it is wanted."""
        kept = self._kept.get(SAMPLE)
        if is_wanted and kept is None:
            self.start(make)
        elif not is_wanted and kept is not None:
            stop_children([kept.child], self._tell_end)
            del self._kept[SAMPLE]
            self._write()

    def stop(self) -> None:
        """Stop all of them in the order of stopping."""
        with suppress(OSError):
            self.enter(Phase.STOPPING)
        stop_children([kept.child for kept in self._kept.values()], self._tell_end)
        self._home.standing.unlink(missing_ok=True)

    def _tell_end(self, child: Child, went: bool) -> None:
        code = self._kept[child.name].process.wait()
        say("component_stopped" if went else "component_killed", name=child.name, code=code)

    def turn_over_logs(self) -> None:
        """Every log that has grown large begins anew; its last part is kept."""
        if time.monotonic() - self._logs_looked_at < _LOOK_AT_LOGS_SECONDS:
            return
        self._logs_looked_at = time.monotonic()
        for log in self._home.logs.glob("*.log"):
            with suppress(OSError):
                if log.stat().st_size > MOST_LOG_BYTES:
                    shutil.copyfile(log, log.with_suffix(".log.1"))
                    os.truncate(log, 0)  # whoever writes to it appends

    def _spawn(self, component: Component) -> tuple[subprocess.Popen[bytes], int]:
        with self._home.log_of(component.name).open("ab") as log:
            process = subprocess.Popen(
                component.words,
                cwd=self._home.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return process, start_ticks(process.pid) or 0

    def _note_end(self, kept: _Kept) -> None:
        """Say when it is restarted; a producer that has written all of its records has not died."""
        code, now = kept.process.returncode, time.monotonic()
        if kept.name == SAMPLE and code == 0:
            kept.due, kept.in_a_row = now, 0
            say("sample_finished", pid=kept.process.pid)
            return
        kept.in_a_row = 1 if now - kept.began > _STEADY_SECONDS else kept.in_a_row + 1
        pause = min(_LONGEST_PAUSE_SECONDS, 2.0 ** (kept.in_a_row - 1))
        kept.due = now + pause
        lived = f"{now - kept.began:.1f}"
        say("component_died", name=kept.name, code=code, restart=kept.restarts + 1, lived=lived, pause=pause)

    def _restart(self, kept: _Kept) -> None:
        try:
            kept.process, kept.ticks = self._spawn(kept.make())
        except (OSError, SmelterError) as problem:  # no room, no process, no program: it may be there again later
            kept.due = time.monotonic() + _LONGEST_PAUSE_SECONDS
            say("component_not_started", name=kept.name, problem=repr(str(problem)))
            return
        kept.began, kept.due, kept.restarts = time.monotonic(), None, kept.restarts + 1
        say("component_started", name=kept.name, pid=kept.process.pid)
        self._write()

    def _write(self) -> None:
        children = tuple(kept.child for kept in self._kept.values())
        standing = Standing(os.getpid(), self._port, self._since, self._phase, self.cleared, children)
        try:
            write_standing(self._home, standing)
        except OSError as problem:  # `smelt down` finds them without it
            say("standing_not_written", problem=problem.strerror)
