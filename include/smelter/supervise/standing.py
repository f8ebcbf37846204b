"""How does a stream stand? Its lock says whether a driver lives, its heartbeat what it does, a wish what it should."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from smelter.supervise.heartbeat import STALE_SECONDS, Heartbeat, State, read_heartbeat
from smelter.supervise.lock import STREAM, Holder, holder
from smelter.supervise.requests import Wanted, wanted


class Condition(StrEnum):
    """How a stream stands, in one word."""

    NEVER = "never started"
    STARTING = "starting"
    WAITING = "waiting"
    WORKING = "working"
    PAUSED = "paused"
    STOPPING = "stopping"
    SILENT = "silent"
    BUSY = "held by another"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"


@dataclass(frozen=True)
class Standing:
    """A stream at one moment."""

    holder: Holder | None
    beat: Heartbeat | None
    wanted: Wanted

    @property
    def is_alive(self) -> bool:
        """Does a driver of the stream hold its lock?"""
        return self.holder is not None and self.holder.role == STREAM

    @property
    def condition(self) -> Condition:
        """The lock decides whether it lives; only then is the heartbeat asked."""
        beat, held_by = self.beat, self.holder
        if held_by is None:
            return _of_the_dead(beat)
        if held_by.role != STREAM:
            return Condition.BUSY
        if beat is None or beat.run != held_by.run:
            return Condition.STARTING
        return Condition.SILENT if beat.age_seconds > STALE_SECONDS else Condition(beat.state.value)


def standing_of(folder: Path) -> Standing:
    """How the stream of this run folder stands now."""
    held_by = holder(folder)
    return Standing(held_by, read_heartbeat(folder), wanted(folder))


def ended(folder: Path, run: str) -> Heartbeat | None:
    """The last words of a driver that is gone; nothing if it was killed before it could say any."""
    beat = read_heartbeat(folder)
    is_last = beat is not None and beat.run == run and beat.state in (State.STOPPED, State.FAILED)
    return beat if is_last else None


def _of_the_dead(beat: Heartbeat | None) -> Condition:
    if beat is None:
        return Condition.NEVER
    return Condition(beat.state.value) if beat.state in (State.STOPPED, State.FAILED) else Condition.KILLED
