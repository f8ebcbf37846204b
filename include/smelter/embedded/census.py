"""Which processes are the platform's? The kernel's own list, by the home that each was started with."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from smelter.embedded.environment import HOME_VARIABLE
from smelter.embedded.home import Home

IDLE_WORKER = "airflow worker -- LocalExecutor: <idle>"  # as Airflow 3.3.2 calls itself
_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One living process of this user."""

    pid: int
    ticks: int
    parent: int
    words: tuple[str, ...]

    @property
    def is_driver(self) -> bool:
        """Is it a stream's driver, `smelt ingest DATASET --follow`?"""
        return "ingest" in self.words and "--follow" in self.words

    @property
    def is_idle_worker(self) -> bool:
        """Is it a worker of some scheduler, with no task?"""
        return " ".join(self.words).strip() == IDLE_WORKER

    @property
    def dataset(self) -> str:
        """The dataset that a driver follows."""
        after = self.words[self.words.index("ingest") + 1 :]
        return next((word for word in after if not word.startswith("-")), "?")

    @property
    def title(self) -> str:
        """A few words that people know it by."""
        return " ".join(Path(word).name if "/" in word else word for word in self.words)[:60] or "?"


def processes_of(home: Home) -> list[Process]:
    """Everything that was started from this home, whoever its parent is now; not this process, nor those above it.

    A process with a terminal is a person's, who may have named the home to look at it: it is left alone.
    """
    mark = f"{HOME_VARIABLE}={home.root}"
    spared = _line_of(os.getpid())
    found = (_look(int(folder.name), os.fsencode(mark)) for folder in _PROC.iterdir() if folder.name.isdigit())
    return [process for process in found if process is not None and process.pid not in spared]


def families(heads: Iterable[Process], processes: Iterable[Process]) -> set[int]:
    """The heads, and every process below one of them: a driver's JVM and its workers."""
    family = {process.pid for process in heads}
    below = list(processes)
    while grown := {process.pid for process in below if process.parent in family} - family:
        family |= grown
    return family


def _look(pid: int, mark: bytes) -> Process | None:
    folder = _PROC / str(pid)
    with suppress(OSError, ValueError):
        if folder.stat().st_uid != os.getuid() or mark not in (folder / "environ").read_bytes().split(b"\0"):
            return None
        state, parent, _group, _session, terminal, *rest = _stat(pid)
        if state != "Z" and terminal == "0":
            words = tuple(os.fsdecode(word) for word in (folder / "cmdline").read_bytes().split(b"\0") if word)
            return Process(pid, int(rest[14]), int(parent), words)
    return None


def _stat(pid: int) -> list[str]:
    return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _line_of(pid: int) -> set[int]:
    """A process and those above it, up to the first."""
    line = set()
    while pid > 0 and pid not in line:
        line.add(pid)
        try:
            pid = int(_stat(pid)[1])
        except OSError:
            break
    return line
