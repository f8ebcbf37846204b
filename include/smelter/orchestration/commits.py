"""New data, as Airflow's assets see it: a watcher on the stream's last commit, with no more events than there are runs.

Airflow queues a run for every event, also while one is at work. So the watcher waits with the next event until the run
that the last one started has begun, and a run says with which commit it began.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from airflow.sdk import Asset, AssetWatcher
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from smelter.orchestration.datasets import Dataset
from smelter.settings import load_settings
from smelter.supervise.heartbeat import read_heartbeat
from smelter.supervise.requests import put_file

PATIENCE_SECONDS = 900.0  # then the run that was to come is taken for lost
POLL_SECONDS = 2.0
_TAKEN = "taken"


def bronze_asset(dataset: Dataset) -> Asset:
    """The dataset's bronze table; an event for each commit that nobody has taken up yet."""
    trigger = CommitTrigger(str(dataset.folder), load_settings().values.build_pause_seconds)
    watcher = AssetWatcher(name=f"commits_{dataset.name}", trigger=trigger)
    return Asset(name=f"bronze_{dataset.name}", uri=f"smelter://bronze/{dataset.name}", watchers=[watcher])


def silver_asset(dataset: Dataset) -> Asset:
    """The dataset's silver table; an event for each run of silver that went well."""
    return Asset(name=f"silver_{dataset.name}", uri=f"smelter://silver/{dataset.name}")


def take_up(folder: Path) -> None:
    """Say that a run begins with what is committed now."""
    beat = read_heartbeat(folder)
    if beat is not None and beat.token:
        put_file(folder / _TAKEN, beat.token)


class CommitTrigger(BaseEventTrigger):
    """Fires when the stream has committed something that no run has begun with."""

    def __init__(self, folder: str, least_seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.folder = folder
        self.least_seconds = least_seconds
        self._taken_then: str | None = None  # with the last event, as long as its run has not begun
        self._quiet_until = self._given_up_at = 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """What another triggerer needs to go on."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        return name, {"folder": self.folder, "least_seconds": self.least_seconds}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look every two seconds, for ever."""
        while True:
            token = await asyncio.to_thread(self._untaken)
            if token:
                yield TriggerEvent({"token": token})
            await asyncio.sleep(POLL_SECONDS)

    def _untaken(self) -> str:
        """The last commit, if a run should be started for it now. By our own clock: others are set and jump."""
        folder, now = Path(self.folder), time.monotonic()
        beat, taken = read_heartbeat(folder), _taken(folder)
        if self._taken_then not in (None, taken):  # the run that we started has begun
            self._taken_then, self._quiet_until = None, now + self.least_seconds
        is_awaited = self._taken_then is not None and now < self._given_up_at
        if beat is None or beat.token in ("", taken) or is_awaited or now < self._quiet_until:
            return ""
        self._taken_then, self._given_up_at = taken, now + PATIENCE_SECONDS
        return beat.token


def _taken(folder: Path) -> str:
    """The commit with which the last run began; empty if none did."""
    with suppress(OSError):
        return (folder / _TAKEN).read_text("utf-8")
    return ""
