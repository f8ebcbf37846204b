"""One at a time: a lock on a file, which dies with its holder. Standard library only, because set-up uses it."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(lock: Path, say_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock; if somebody else has it, say so once and wait."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say_waiting()
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
