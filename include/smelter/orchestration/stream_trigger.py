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

from smelter.orchestration.words import progress_of, why_not_now
from smelter.supervise.driver import is_alive
from smelter.supervise.heartbeat import State, read_heartbeat
from smelter.supervise.requests import ask_to_stop

POLL_SECONDS = 2.0
LEAST_SECONDS = 15.0  # Airflow 3.3.2 may fail a task whose trigger fires within about 5 s of deferring
DAY_SECONDS = 86_400.0
SILENT_SECONDS = 300.0
STARTING_SECONDS = 3_600.0  # a driver that starts may have much to read before it beats again
_LOG_SECONDS = 30.0


@dataclass(frozen=True)
class Watched:
    """Which life of a stream's driver is watched; without a name, a stream that cannot be started yet."""

    folder: str
    stream: str
    run: str
    since: float
    silent_seconds: float = SILENT_SECONDS
    day_seconds: float = DAY_SECONDS


class StreamTrigger(BaseTrigger):
    """Fires when the driver has ended, is silent or can be started, and when the day is over. Not to tell of progress:
    a task that is woken is not watched for a moment, and on a paused DAG it is not taken up at all."""

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
            what = await asyncio.to_thread(self._look)
            if what and time.monotonic() - began >= LEAST_SECONDS:
                yield TriggerEvent({"what": what, **asdict(self.watched)})
                return
            await asyncio.sleep(POLL_SECONDS)

    async def on_kill(self) -> None:
        """Somebody cleared the task or marked it: stop this life of the driver, and no other."""
        if self.watched.run:
            self.log.info("the task was cleared or marked: asking the driver %s to stop", self.watched.run)
            await asyncio.to_thread(ask_to_stop, self._folder, self.watched.run, "Airflow: marked or cleared")

    def _look(self) -> str:
        is_over = time.time() - self.watched.since > self.watched.day_seconds
        if not self.watched.run:
            return "wanted" if why_not_now(self._folder) is None else "over" if is_over else ""
        if not is_alive(self._folder, self.watched.run):
            return "ended"
        self._tell()
        if self._silence() > self._patience():
            return "silent"
        return "over" if is_over else ""

    def _patience(self) -> float:
        beat = read_heartbeat(self._folder)
        is_starting = beat is None or beat.run != self.watched.run or beat.state is State.STARTING
        return max(self.watched.silent_seconds, STARTING_SECONDS) if is_starting else self.watched.silent_seconds

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
