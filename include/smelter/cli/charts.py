"""A distribution as bars of text, for an answer that is looked at and not computed with."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 32
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bars(rows: Sequence[tuple[str, float]], unit: str = "") -> list[str]:
    """One line per row: its name, a bar as long as its share of the largest, and the number."""
    largest = max((abs(value) for _, value in rows), default=0) or 1
    names = max((len(name) for name, _ in rows), default=0)
    return [f"{name:<{names}}  {bar(value / largest):<{WIDTH}} {value:>10,.2f}{unit}" for name, value in rows]


def bar(share: float, width: int = WIDTH) -> str:
    """A bar as long as a share of one, which is so many signs wide."""
    eighths = round(max(share, 0) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()
