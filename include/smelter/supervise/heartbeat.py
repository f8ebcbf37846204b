"""What is the driver doing? A small file that it writes anew at every batch and every few seconds between them."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path

HEARTBEAT = "heartbeat.json"
STALE_SECONDS = 60


class State(StrEnum):
    """What a driver is doing."""

    STARTING = "starting"
    WAITING = "waiting"
    WORKING = "working"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class Heartbeat:
    """The last thing that a driver said: its state, its newest batch, its totals, and what is waiting.

    `token` and `committed_at` are of the stream's last commit, also of one that an earlier driver made.
    """

    stream: str
    pid: int
    state: State
    started_at: float
    beat_at: float = field(default_factory=time.time)
    batch: int | None = None
    token: str = ""
    records: int = 0
    accepted: int = 0
    dead: int = 0
    seconds: float = 0.0
    batches: int = 0
    total_records: int = 0
    total_accepted: int = 0
    total_dead: int = 0
    waiting_files: int | None = None
    oldest_waiting_seconds: float | None = None
    note: str = ""
    run: str = ""
    committed_at: float | None = None
    exit_code: int | None = None
    ui: str = ""

    @property
    def age_seconds(self) -> float:
        """How long ago it beat."""
        return max(0.0, time.time() - self.beat_at)


def write_heartbeat(folder: Path, beat: Heartbeat) -> None:
    """Replace the heartbeat; a reader sees the old one or the new one, never half."""
    fresh = folder / f".{HEARTBEAT}-{os.getpid()}"
    fresh.write_text(json.dumps(asdict(beat)))
    fresh.replace(folder / HEARTBEAT)


def read_heartbeat(folder: Path) -> Heartbeat | None:
    """The last heartbeat, or nothing if there never was one."""
    try:
        said = json.loads((folder / HEARTBEAT).read_text())
        known = {name.name for name in fields(Heartbeat)}
        kept = {name: value for name, value in said.items() if name in known}
        return Heartbeat(**{**kept, "state": State(said["state"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
