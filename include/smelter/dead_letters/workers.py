"""Several processes for what is worth them; they end with the one that started them, whatever ends it."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
_PARENT_DEATH_SIGNAL = 1  # of Linux's prctl


def cores() -> int:
    """How many processes can work at once."""
    return len(os.sched_getaffinity(0))


def each_in_a_process(function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """What the function makes of each task, in their order: the first is done here, while others do the rest."""
    if len(tasks) < 2:
        return [function(task) for task in tasks]
    others = ProcessPoolExecutor(
        len(tasks) - 1, mp_context=get_context("spawn"), initializer=_end_with, initargs=(os.getpid(),)
    )
    with others as pool:
        waiting = [pool.submit(function, task) for task in tasks[1:]]
        return [function(tasks[0]), *(one.result() for one in waiting)]


def _end_with(parent: int) -> None:
    """A process whose parent was killed would wait for work for ever."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
