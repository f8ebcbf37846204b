"""The keeper: the parent of Airflow's components, which starts, restarts and stops them, and outlives `smelt up`.

`python -m smelter.embedded.keeper HOME PORT DAGS`. Everything that changes the home is done here, under one lock.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from smelter.embedded.children import Children, say
from smelter.embedded.components import Component, Plan, airflow_plan
from smelter.embedded.configuration import ADDRESS, configure
from smelter.embedded.home import Home, write_private
from smelter.embedded.standing import Phase
from smelter.embedded.stopping import clear_orphans
from smelter.errors import Refused, SmelterError, Unreachable
from smelter.supervise.lock import only_driver

TICK_SECONDS = 0.25
PORT_SECONDS = 60.0
KEEPER = "keeper"


def main(words: list[str]) -> int:
    """Keep the platform until somebody asks for its end; a failure is told in the log, where `smelt up` reads it."""
    home, port, dags = Home(Path(words[0])), int(words[1]), Path(words[2])
    return keep(home, lambda: airflow_plan(port, dags))


def keep(home: Home, make_plan: Callable[[], Plan]) -> int:
    """Hold the home's lock for life; a second keeper is refused."""
    try:
        home.make()
        with only_driver(home.root, "keeper", KEEPER):
            _Keeper(home, make_plan()).run()
    except SmelterError as problem:
        print(problem, flush=True)
        return problem.exit_code
    except OSError as problem:
        print(f"{(problem.strerror or str(problem)).lower()}\n  where: {problem.filename or home.root}", flush=True)
        return Unreachable.exit_code
    return 0


class _Keeper:
    """One life of a keeper."""

    def __init__(self, home: Home, plan: Plan) -> None:
        self._home, self._plan, self._is_asked = home, plan, False
        self._children = Children(home, plan.port)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def run(self) -> None:
        """Clear, configure, make the database, start, watch; and stop in order, whatever happened."""
        say("keeper_started", port=self._plan.port, dags=self._plan.dags)
        try:
            self._children.cleared = len(clear_orphans(self._home))
            say("orphans_cleared", processes=self._children.cleared)
            refuse_taken_port(self._plan.port)
            configure(self._home, self._plan.port, self._plan.dags)
            self._migrate()
            self._start()
            self._watch()
        finally:
            self._children.stop()
            say("keeper_stopped")

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._is_asked = True
        say("keeper_asked_to_stop", signal=number)

    def _migrate(self) -> None:
        """Make the database, once for each version of Airflow."""
        made_for = self._home.migrated.read_text("utf-8") if self._home.migrated.exists() else ""
        if made_for == self._plan.version and self._home.database.exists():
            return
        self._children.enter(Phase.DATABASE)
        began = time.monotonic()
        with self._home.log_of("database").open("ab") as log:
            maker = subprocess.Popen(
                self._plan.migrate, cwd=self._home.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        while maker.poll() is None and not self._is_asked:
            time.sleep(TICK_SECONDS / 5)
        if self._is_asked:
            maker.kill()  # made again from where it was, the next time
            maker.wait()
        elif maker.returncode != 0:
            raise Unreachable(
                f"Airflow's database could not be made: exit code {maker.returncode}",
                where=str(self._home.log_of("database")),
                data="nothing is left running",
                next_step="read that log; then smelt up",
            )
        else:
            write_private(self._home.migrated, self._plan.version)
            say("database_made", version=self._plan.version, seconds=f"{time.monotonic() - began:.1f}")

    def _start(self) -> None:
        """Start the components in their order; those that talk to the API server as soon as it listens."""
        self._children.enter(Phase.STARTING)
        end = time.monotonic() + PORT_SECONDS
        for component in self._plan.components:
            while component.after_port and not _listens(self._plan.port) and time.monotonic() < end:
                if self._is_asked:
                    break
                self._children.restart_the_dead()
                time.sleep(TICK_SECONDS / 5)
            if not self._is_asked:
                self._children.start(partial(_itself, component))
        if not self._is_asked:
            self._children.enter(Phase.RUNNING)

    def _watch(self) -> None:
        while not self._is_asked:
            self._children.restart_the_dead()
            self._children.clear_workers()
            self._keep_sample()
            self._children.turn_over_logs()
            time.sleep(TICK_SECONDS)

    def _keep_sample(self) -> None:
        try:
            self._children.keep_sample(self._plan.sample, is_wanted=self._home.sample.exists())
        except (OSError, SmelterError) as problem:  # the platform is worth more than its sample
            self._home.sample.unlink(missing_ok=True)
            say("sample_not_started", problem=repr(str(problem)))


def _itself(component: Component) -> Component:
    return component


def refuse_taken_port(port: int) -> None:
    """Nobody else may listen where the API server will."""
    with socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended do not count
        try:
            asked.bind((ADDRESS, port))
        except OSError as problem:
            raise Refused(
                f"port {port} cannot be used: {(problem.strerror or str(problem)).lower()}",
                where=f"{ADDRESS}:{port}",
                data="nothing was started",
                next_step="smelt up --port PORT, with another number",
            ) from None


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        asked.settimeout(0.5)
        return asked.connect_ex((ADDRESS, port)) == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
