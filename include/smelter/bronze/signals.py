"""Who wants the stream to stop or to rest? A signal, a request to this driver, a wish about the stream, or its caller.

Ctrl-C and SIGTERM: the first finishes the running batch, the second stops at once. Neither harms the lake.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from smelter.bronze.pulse import Pulse
from smelter.supervise.heartbeat import State
from smelter.supervise.requests import Wanted, Wish, wanted, who_asked_to_stop

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopper:
    """Knows whether anybody asked the stream to stop, or to rest."""

    def __init__(
        self, pulse: Pulse, say: Callable[[str], None], should_stop: Callable[[], bool], folder: Path, before: Wanted
    ) -> None:
        """`before` is what was wanted of the stream when somebody decided to start this driver."""
        self._pulse = pulse
        self._say = say
        self._before: dict[signal.Signals, Any] = {}
        self._should_stop = should_stop
        self._was_signalled = False
        self._folder = folder
        self._run = pulse.run
        self._at_start = before

    @property
    def asked(self) -> bool:
        """Has a signal or a request come, or does whoever runs the stream want it to end?"""
        return self._was_signalled or self._should_stop() or self._is_requested()

    @property
    def rest(self) -> Wanted | None:
        """Who wants the stream to rest, and why; nothing if it may go on."""
        said = wanted(self._folder)
        return said if said.wish is Wish.PAUSE else None

    def _is_requested(self) -> bool:
        if who_asked_to_stop(self._folder, self._run) is not None:
            return True
        said = wanted(self._folder)
        return said.wish is Wish.STOP and said != self._at_start

    def __enter__(self) -> Stopper:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def arm(self) -> None:
        """Take the signals back: PySpark puts a handler of its own when its session starts."""
        for number in self._before:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._was_signalled:
            os._exit(128 + number)  # the kernel lets go of the lock, and the JVM ends with its parent
        self._was_signalled = True
        self._say("stopping after the running batch; once more stops at once")
        self._pulse.be(State.STOPPING)
