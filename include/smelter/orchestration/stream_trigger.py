"""Watches a driver from Airflow's triggerer, and wakes its task when there is something to decide.

The authority is the lock and the heartbeat on disk; a trigger that is killed and started anew sees the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from smelter.orchestration.words import progress_of
from smelter.supervise.driver import is_alive
from smelter.supervise.heartbeat import read_heartbeat
from smelter.supervise.requests import Wish, ask_to_stop, wanted

POLL_SECONDS = 2.0
LEAST_SECONDS = 15.0  # Airflow 3.3.2 may fail a task whose trigger fires within about 5 s of deferring
REPORT_SECONDS = 600.0
SILENT_SECONDS = 300.0
_LOG_SECONDS = 30.0


@dataclass(frozen=True)
class Watched:
    """Which life of a stream's driver is watched; without a name, a stream that is to stay stopped."""

    folder: str
    stream: str
    run: str
    since: float
    silent_seconds: float = SILENT_SECONDS
    report_seconds: float = REPORT_SECONDS


class StreamTrigger(BaseTrigger):
    """Fires when the driver has ended, is silent, is wanted again, or when it is time to mirror its progress."""

    def __init__(self, **watched: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.watched = Watched(**watched)
        self._folder = Path(self.watched.folder)
        self._beat_at, self._beat_seen = 0.0, time.monotonic()
        self._told, self._told_at = "", 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """What another triggerer needs to go on."""
        return f"{type(self).__module__}.{type(self).__qualname__}", asdict(self.watched)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look every two seconds; never fire too early."""
        began = time.monotonic()
        self._beat_seen = began
        while True:
            what = await asyncio.to_thread(self._look, time.monotonic() - began)
            if what and time.monotonic() - began >= LEAST_SECONDS:
                yield TriggerEvent({"what": what, **asdict(self.watched)})
                return
            await asyncio.sleep(POLL_SECONDS)

    async def on_kill(self) -> None:
        """Somebody cleared the task or marked it: stop this life of the driver, and no other."""
        if self.watched.run:
            self.log.info("the task was cleared or marked: asking the driver %s to stop", self.watched.run)
            await asyncio.to_thread(ask_to_stop, self._folder, self.watched.run, "Airflow: marked or cleared")

    def _look(self, age: float) -> str:
        if not self.watched.run:
            return "" if wanted(self._folder).wish is Wish.STOP else "wanted"
        if not is_alive(self._folder, self.watched.run):
            return "ended"
        self._tell()
        if self._silence() > self.watched.silent_seconds:
            return "silent"
        return "progress" if age > self.watched.report_seconds else ""

    def _silence(self) -> float:
        """How long we ourselves have seen no beat; a clock that was set or a machine that slept is no silence."""
        beat = read_heartbeat(self._folder)
        if beat is not None and beat.beat_at != self._beat_at:
            self._beat_at, self._beat_seen = beat.beat_at, time.monotonic()
        return time.monotonic() - self._beat_seen

    def _tell(self) -> None:
        """A line in the task's log when something changed, and not more often than every half minute."""
        line, now = progress_of(self._folder), time.monotonic()
        if line != self._told and (not self._told or now - self._told_at >= _LOG_SECONDS):
            self._told, self._told_at = line, now
            self.log.info("%s", line)
