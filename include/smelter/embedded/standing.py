"""What runs? A small file that the keeper replaces whenever it starts, loses or stops a process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from smelter.embedded.home import Home, write_private


class Phase(StrEnum):
    """How far a keeper has come."""

    DATABASE = "database"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


@dataclass(frozen=True)
class Child:
    """One process that a keeper started; the kernel's start time tells it from another with the same number."""

    name: str
    pid: int
    ticks: int
    restarts: int = 0


@dataclass(frozen=True)
class Standing:
    """The keeper's own word on what it keeps."""

    keeper: int
    port: int
    since: float
    phase: Phase
    cleared: int = 0  # processes that an earlier keeper had left
    children: tuple[Child, ...] = field(default=())


def write_standing(home: Home, standing: Standing) -> None:
    """Replace the file; a reader sees the old one or the new one, never half."""
    write_private(home.standing, json.dumps(asdict(standing), indent=1) + "\n")


def read_standing(home: Home) -> Standing | None:
    """What was last written; nothing if there is no such file, or it is not one."""
    try:
        said = json.loads(home.standing.read_text("utf-8"))
        children = tuple(Child(**child) for child in said.pop("children"))
        return Standing(**{**said, "phase": Phase(said["phase"]), "children": children})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
