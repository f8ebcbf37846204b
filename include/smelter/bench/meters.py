"""Processor time and memory of a process and all below it, as Linux tells them, and what machine this is.

Spark is a tree: the driver, its JVM, the parent of its Python workers, and the workers. Only the sum is honest.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_SAMPLE_SECONDS = 0.25  # a look costs 15 ms for a JVM
_PROC = Path("/proc")


def cpu_seconds(root: int | None = None) -> float:
    """What a process and all below it have used, with those that have ended and were waited for."""
    stats = dict(_stats())
    return sum(stats[pid][1] for pid in _tree(root or os.getpid(), stats)) / _TICKS


def memory_bytes(root: int | None = None) -> int:
    """The memory of a process and all below it; a page that several share counts once, divided among them (PSS)."""
    return sum(map(_share_of_memory, _tree(root or os.getpid(), dict(_stats()))))


class PeakMemory:
    """The most memory that a process and all below it had while this was open; looks four times a second."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.bytes = 0

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.bytes = max(self.bytes, memory_bytes(self._root))
            if self._over.wait(_SAMPLE_SECONDS):
                return


def machine(*packages: str) -> dict[str, str]:
    """What the figures were measured on, and with which versions."""
    cpu = next((line.split(":")[1].strip() for line in _lines("cpuinfo") if line.startswith("model name")), "unknown")
    memory = next((int(line.split()[1]) for line in _lines("meminfo") if line.startswith("MemTotal")), 0)
    return {
        "cpu": cpu,
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 1e6:.0f} GB",
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _stats() -> Iterator[tuple[int, tuple[int, int]]]:
    """Of every process: its parent, and its ticks with those of children that it has waited for."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(folder.name), (int(words[1]), sum(map(int, words[11:15])))


def _tree(root: int, stats: dict[int, tuple[int, int]]) -> list[int]:
    return [pid for pid in stats if _is_below(pid, root, stats)]


def _is_below(pid: int, root: int, stats: dict[int, tuple[int, int]]) -> bool:
    while pid in stats and pid != root:
        pid = stats[pid][0]
    return pid == root


def _share_of_memory(pid: int) -> int:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _lines(name: str) -> list[str]:
    try:
        return (_PROC / name).read_text("utf-8").splitlines()
    except OSError:
        return []
