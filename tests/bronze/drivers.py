"""Drivers in processes of their own, for what only a real process can show."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from following_driver import WAITS
from streams import Stream

from smelter.prove.processes import QUICK_JVM

HERE = Path(__file__).parent


def environ() -> dict[str, str]:
    paths = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": paths, "JDK_JAVA_OPTIONS": QUICK_JVM}


def start(script: str, *words: object, log: Path, wrapper: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """Start a script of this folder; what it says goes to the log."""
    with log.open("ab") as said:
        return subprocess.Popen(
            [*wrapper, sys.executable, str(HERE / script), *map(str, words)], env=environ(), stdout=said, stderr=said
        )


def write_contract(stream: Stream, folder: Path) -> Path:
    """The contract as a file, for a process that reads it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{stream.name}.yaml"
    path.write_text(stream.contract.model_dump_json(by_alias=True, exclude_unset=True), "utf-8")
    return path


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = 90) -> None:
    """Wait for something that will happen; the limit is only there so that a failure ends."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.05)


@dataclass
class Following:
    """A driver that follows a stream in its own process; its batches wait at a point while its gate is shut."""

    stream: Stream
    folder: Path
    point: str = "judged"

    @property
    def gate(self) -> Path:
        return self.folder / "gate"

    def __enter__(self) -> Following:
        contract = write_contract(self.stream, self.folder / "contracts")
        words = (self.stream.lake.root, contract, self.point, self.gate)
        self.process = start("following_driver.py", *words, log=self.folder / "said")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def shut(self) -> None:
        self.gate.touch()

    def open(self) -> None:
        self.gate.unlink()

    def wait_until_it_waits(self) -> None:
        wait_until(self.gate.with_suffix(WAITS).exists, "a batch came to the gate")

    def wait_until_read(self, *names: str) -> None:
        """Wait until files are in finished batches."""
        wait_until(lambda: all(self.stream.has_read(name) for name in names), f"{names} were read")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ends(self) -> int:
        return self.process.wait(timeout=60)
