"""How long ago, in words."""

from __future__ import annotations


def ago(seconds: float | None) -> str:
    """`12 s ago`, `3 h ago`."""
    seconds = max(0.0, seconds or 0.0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
