"""When, and how long ago, in words."""

from __future__ import annotations

from datetime import UTC, datetime


def ago(seconds: float | None) -> str:
    """`12 s ago`, `3 h ago`."""
    seconds = max(0.0, seconds or 0.0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def moment(when: datetime) -> str:
    """`2026-11-18 13:25:48Z`."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
