"""Do the streams run? What their drivers say, waited for but not for ever."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from smelter.run_folders import stream_folder
from smelter.supervise.heartbeat import Heartbeat, State, read_heartbeat
from smelter.supervise.lock import holder

DRIVER_SECONDS = 45.0
_POLL_SECONDS = 0.3


def wait_for_streams(lake: Path, datasets: Sequence[str], seconds: float = DRIVER_SECONDS) -> dict[str, Heartbeat]:
    """What each living driver says once it has begun its work; one that takes longer is not among them."""
    end, begun = time.monotonic() + seconds, dict[str, Heartbeat]()
    while True:
        for dataset in datasets:
            beat = _begun(stream_folder(lake, dataset))
            if beat is not None:
                begun[dataset] = beat
        if len(begun) == len(datasets) or time.monotonic() >= end:
            return begun
        time.sleep(_POLL_SECONDS)


def _begun(folder: Path) -> Heartbeat | None:
    """The heartbeat of the driver that holds the lock, if it is past its start."""
    held_by, beat = holder(folder), read_heartbeat(folder)
    is_its_own = held_by is not None and beat is not None and beat.pid == held_by.pid
    return beat if is_its_own and beat is not None and beat.state is not State.STARTING else None
