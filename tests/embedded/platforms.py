"""A small platform in a lake of its own, and a look at what it left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smelter.embedded.census import Process, processes_of
from smelter.embedded.environment import environment
from smelter.embedded.home import Home
from smelter.embedded.standing import Phase, Standing
from smelter.embedded.start import Request, running, start
from smelter.embedded.stopping import bring_down
from smelter.settings import Settings

HERE = Path(__file__).parent
COMPONENTS = ("api-server", "dag-processor", "scheduler", "triggerer")
KEEPER = (sys.executable, str(HERE / "small_keeper.py"))


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def wait_until(is_so: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.05)


@dataclass(frozen=True)
class Platform:
    """A lake whose Airflow is made of small programs."""

    lake: Path
    port: int

    @property
    def home(self) -> Home:
        return Home.at(self.lake)

    @property
    def environ(self) -> dict[str, str]:
        return environment(self.home, Settings(lake=self.lake), os.environ)

    def will(self, misbehave: str, text: str = "") -> None:
        """`scheduler.dies`, `triggerer.stubborn`, …"""
        self.home.make()
        (self.home.root / misbehave).write_text(text)

    def up(self, port: int | None = None, *, sample: bool = False) -> Standing:
        request = Request(self.lake / "dags", port or self.port, sample)
        start(self.home, request, self.environ, lambda _what, _seconds: None, KEEPER)
        return self.when_running()

    def when_running(self) -> Standing:
        wait_until(lambda: (found := running(self.home)) and found.phase is Phase.RUNNING)
        wait_until(lambda: set(COMPONENTS) <= set(self.diary("begin")))
        found = running(self.home)
        assert found is not None
        return found

    def down(self) -> tuple[bool, list[str]]:
        said: list[str] = []
        return bring_down(self.home, lambda what, _seconds: said.append(what)), said

    def pid_of(self, name: str) -> int:
        found = running(self.home)
        assert found is not None
        return next(child.pid for child in found.children if child.name == name)

    def diary(self, what: str) -> list[str]:
        """Who began, or ended, in the order in which they did."""
        lines = (self.home.root / "diary").read_text().splitlines() if (self.home.root / "diary").exists() else []
        return [line.split()[-2] for line in lines if line.startswith(f"{what} ")]

    def log(self) -> str:
        return self.home.log_of("keeper").read_text()

    def processes(self) -> list[Process]:
        return processes_of(self.home)

    def start_driver(self, dataset: str, *, by_hand: bool = False) -> subprocess.Popen[bytes]:
        """A driver such as a task starts; or such as a person starts, who knows nothing of Airflow."""
        diary = self.home.root / "diary"
        words = [sys.executable, str(HERE / "small_driver.py"), str(diary), "ingest", dataset, "--follow"]
        environ = dict(os.environ) if by_hand else self.environ
        driver = subprocess.Popen(words, env=environ, start_new_session=True)
        wait_until(lambda: f"driver-{dataset}" in self.diary("begin"))
        return driver
