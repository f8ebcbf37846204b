"""Real time: how fast files are written, and when Ctrl-C may strike."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_TICK_SECONDS = 1.0


class Pace:
    """Holds each file back until its last record is due; without a rate, nothing waits."""

    def __init__(
        self,
        rate: float | None,
        tick: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate, self._tick, self._now, self._sleep = rate, tick, now, sleep
        self._began = now()

    def wait_for(self, records: int) -> None:
        """Sleep until so many records may have been written since the beginning, with a tick each second."""
        if self._rate is None:
            return
        due = self._began + records / self._rate
        while (ahead := due - self._now()) > 0:
            self._sleep(min(ahead, _TICK_SECONDS))
            self._tick()


@contextmanager
def undisturbed() -> Iterator[None]:
    """A file and its truth belong together: Ctrl-C inside of the block is raised at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    struck: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        struck.append(number)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if struck:
        raise KeyboardInterrupt
