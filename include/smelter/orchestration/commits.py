"""New data, as Airflow's assets see it: a watcher on the stream's last commit, with no more events than there are runs.

Airflow queues a run for every event, also while one is at work. So the watcher waits with the next event until the run
that the last one started has begun, and a run says with which commit it began.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
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
_TAKEN = "taken.json"


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
        put_file(folder / _TAKEN, json.dumps({"token": beat.token, "at": time.time()}))


class CommitTrigger(BaseEventTrigger):
    """Fires when the stream has committed something that no run has begun with."""

    def __init__(self, folder: str, least_seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.folder = folder
        self.least_seconds = least_seconds
        self._fired_at = 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """What another triggerer needs to go on."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        return name, {"folder": self.folder, "least_seconds": self.least_seconds}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look every two seconds, for ever."""
        while True:
            token = await asyncio.to_thread(self._untaken)
            if token:
                self._fired_at = time.time()
                yield TriggerEvent({"token": token})
            await asyncio.sleep(POLL_SECONDS)

    def _untaken(self) -> str:
        """The last commit, if a run should be started for it now."""
        folder, now = Path(self.folder), time.time()
        beat = read_heartbeat(folder)
        token, taken_at = _taken(folder)
        if beat is None or not beat.token or beat.token == token:
            return ""
        is_awaited = self._fired_at > taken_at and now - self._fired_at < PATIENCE_SECONDS
        is_too_soon = now - max(self._fired_at, taken_at) < self.least_seconds
        return "" if is_awaited or is_too_soon else beat.token


def _taken(folder: Path) -> tuple[str, float]:
    try:
        said = json.loads((folder / _TAKEN).read_text("utf-8"))
        return str(said["token"]), float(said["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", 0.0
