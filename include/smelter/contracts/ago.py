"""A moment as people give it to a command: a time, or how long ago."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from smelter.contracts.faults import printable
from smelter.contracts.times import seconds_of
from smelter.errors import WrongUsage


def time_or_ago(text: str, option: str, now: datetime, *, joined: str = " ") -> datetime:
    """`2h` or `3d` ago, or a time as ISO 8601 writes it, in UTC unless it names an offset.

    `joined` stands between the option and its value, where an error says how to write it.
    """
    try:
        return now - timedelta(seconds=seconds_of(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUsage(
            f"{option} `{printable(text)}` is not a time",
            next_step=f"{option}{joined}2026-11-18T09:00:00Z (UTC), or so long ago: {option}{joined}2h (s, m, h, d)",
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
