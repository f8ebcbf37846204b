"""The whole platform as a person has it: started and stopped by `smelt`, asked over its API, looked at in /proc."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from smelter.cli.main import run
from smelter.explore import Explorer, connect
from smelter.prove.processes import QUICK_JVM

PROJECT = Path(__file__).resolve().parents[2]
SMELT = str(Path(sys.executable).with_name("smelt"))
COMPONENTS = ("scheduler", "triggerer", "api-server", "dag-processor")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def soon(ask: Callable[[], Any], what: str, seconds: float = 240) -> Any:
    """Wait until the answer is yes; what was waited for is the message if it does not come."""
    end = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.3)
    return answer


@dataclass
class Platform:
    """One lake with its Airflow."""

    lake: Path
    port: int = field(default_factory=free_port)
    _tokens: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.lake / "run" / "airflow"

    @property
    def contracts(self) -> Path:
        return self.lake.with_name("contracts")

    def take_contracts(self) -> None:
        """Give the platform copies of the contracts, so that a test may change them."""
        shutil.copytree(PROJECT / "include" / "contracts", self.contracts)
        self.lake.mkdir()
        (self.lake / "smelter.toml").write_text(f'contracts = "{self.contracts}"\n')

    def smelt(self, *words: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "JDK_JAVA_OPTIONS": QUICK_JVM}
        command = [SMELT, "--lake", str(self.lake), *words]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=300)
        assert not ok or done.returncode == 0, f"smelt {' '.join(words)}: {done.stdout}{done.stderr}"
        return done

    def passwords(self) -> dict[str, str]:
        found = json.loads((self.home / "passwords.json").read_text())
        assert isinstance(found, dict)
        return found

    def token(self, user: str = "admin") -> str:
        """Once for each user: it is good for a day, whatever is killed meanwhile."""
        if user not in self._tokens:
            body = {"username": user, "password": self.passwords()[user]}
            self._tokens[user] = str(self.ask("POST", "/auth/token", body, user=None)[1]["access_token"])
        return self._tokens[user]

    def ask(self, method: str, path: str, body: Any = None, user: str | None = "admin") -> tuple[int, Any]:
        """One request; the status, and the answer if it is JSON."""
        headers = {"Content-Type": "application/json"}
        if user is not None:
            headers["Authorization"] = f"Bearer {self.token(user)}"
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as problem:
            with problem:
                status, text = problem.code, problem.read()
        with contextlib.suppress(ValueError):
            return status, json.loads(text)
        return status, text.decode(errors="replace")

    def get(self, path: str) -> Any:
        """What a GET answers; nothing while Airflow does not."""
        with contextlib.suppress(OSError):
            status, answer = self.ask("GET", path)
            return answer if status == 200 else None
        return None

    def runs(self, dag: str) -> list[dict[str, Any]]:
        found = self.get(f"/api/v2/dags/{dag}/dagRuns?order_by=-run_after&limit=20")
        return [] if found is None else list(found["dag_runs"])

    def task(self, dag: str, run: str, task: str) -> dict[str, Any]:
        found = self.get(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}")
        return {} if found is None else dict(found)

    def is_healthy(self) -> bool:
        found = self.get("/api/v2/monitor/health")
        names = ("metadatabase", "scheduler", "triggerer", "dag_processor")
        return found is not None and all(found[name]["status"] == "healthy" for name in names)

    def standing(self, dataset: str = "events") -> dict[str, Any]:
        """What `smelt stream status` says; in this process, because it is asked again and again."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert run(["--lake", str(self.lake), "stream", "status", dataset, "--json"]) == 0
        found = json.loads(said.getvalue())[0]
        assert isinstance(found, dict)
        return found

    def component(self, name: str) -> int:
        """The pid of one of Airflow's components, as the platform itself knows it."""
        standing = json.loads((self.home / "processes.json").read_text())
        return next(int(child["pid"]) for child in standing["children"] if child["name"] == name)

    @cached_property
    def explorer(self) -> Explorer:
        """Open all the while, as in a notebook."""
        return connect(self.lake)

    def answers(self, query: str) -> list[tuple[Any, ...]]:
        return self.explorer.execute(query).fetchall()

    def keeper(self) -> int:
        return int(json.loads((self.home / "processes.json").read_text())["keeper"])

    def processes(self) -> list[str]:
        """Every process that belongs to this platform, by its environment."""
        return [line for _pid, line in _processes_with(f"AIRFLOW_HOME={self.home}")]

    def left_workers(self) -> list[int]:
        """Workers without a task whose scheduler is gone."""
        idle = [pid for pid, line in _processes_with(f"AIRFLOW_HOME={self.home}") if line.strip().endswith("<idle>")]
        return [pid for pid in idle if _parent(pid) == 1]

    def pids(self) -> list[int]:
        return [pid for pid, _line in _processes_with(f"AIRFLOW_HOME={self.home}")]


def drivers_of(lake: Path) -> list[int]:
    """Drivers of any stream of the lake: processes, not what anybody says of them."""
    words = f"--lake {lake} ingest"
    return [pid for pid, line in _all_processes() if words in line and "--follow" in line]


def driving(lake: Path) -> list[int]:
    """Those drivers that have their lock: one that has closed it writes nothing more, and is only on its way out."""
    found = [pid for pid in drivers_of(lake) if _has_open(pid, "/lock")]
    return [pid for pid in found if _parent(pid) not in found]  # a driver that starts its JVM is two for a moment


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _has_open(pid: int, ending: str) -> bool:
    with contextlib.suppress(OSError):
        return any(str(place.readlink()).endswith(ending) for place in Path(f"/proc/{pid}/fd").iterdir())
    return False


@contextlib.contextmanager
def never_two_drivers(platform: Platform) -> Iterator[list[int]]:
    """Count the drivers all the while; more than one at any moment fails the test."""
    over, seen = threading.Event(), []

    def count() -> None:
        while not over.wait(0.1):
            seen.append(len(driving(platform.lake)))

    counter = threading.Thread(target=count)
    counter.start()
    try:
        yield seen
    finally:
        over.set()
        counter.join()
    assert 1 in seen, "nobody counted"
    assert max(seen) <= 1, f"there were {max(seen)} drivers at once"


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _all_processes() -> Iterator[tuple[int, str]]:
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if line:  # a zombie has none
                    yield int(place.name), line


def _processes_with(variable: str) -> Iterator[tuple[int, str]]:
    for pid, line in _all_processes():
        with contextlib.suppress(OSError):
            if variable.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                yield pid, line
