"""A stream's standing in words, for `smelt status` and `smelt stream status`."""

from __future__ import annotations

from typing import Any

from smelter.cli.moments import ago
from smelter.supervise.requests import Wish
from smelter.supervise.standing import Condition, Standing


def plain(found: Standing) -> dict[str, Any]:
    """The standing as plain values."""
    beat, held_by = found.beat, found.holder
    return {
        "alive": found.is_alive,
        "state": found.condition.value,
        "pid": None if held_by is None else held_by.pid,
        "run": None if held_by is None else held_by.run,
        "held_by": None if held_by is None else held_by.role,
        "beat_seconds_ago": None if beat is None else round(beat.age_seconds, 1),
        "batch": None if beat is None else beat.batch,
        "token": None if beat is None else beat.token,
        "seconds": None if beat is None else beat.seconds,
        "batches": None if beat is None else beat.batches,
        "records": None if beat is None else beat.total_records,
        "exit_code": None if beat is None else beat.exit_code,
        "spark_ui": "" if beat is None else beat.ui,
        "note": "" if beat is None else beat.note,
        "wanted": found.wanted.wish.value,
        "wanted_by": "" if found.wanted.wish is Wish.RUN else str(found.wanted),
    }


def line_of(stream: dict[str, Any]) -> str:
    """One line about a stream, from its plain values."""
    heard, note = ago(stream["beat_seconds_ago"]), stream["note"]
    if stream["held_by"] not in (None, "stream"):
        return f"held by a {stream['held_by']}, pid {stream['pid']}; the stream waits for it"
    if stream["alive"]:
        doing = f"{stream['state']} ({note})" if note else stream["state"]
        ui = f", Spark UI {stream['spark_ui']}" if stream["spark_ui"] else ""
        return f"alive, pid {stream['pid']}, {doing}, heard from {heard}{ui}"
    why = f": {note}" if note else ""
    return {
        Condition.NEVER: "not running",
        Condition.FAILED: f"not running; it failed {heard}{why}",
        Condition.STOPPED: f"not running; it stopped {heard}{why}",
    }.get(Condition(stream["state"]), f"not running; it was killed, last heard from {heard}") + (
        f"; {stream['wanted_by']}" if stream["wanted_by"] else ""
    )
