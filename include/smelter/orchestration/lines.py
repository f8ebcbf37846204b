"""Lines for a log and for the page of an approval: few, short, and such that they can be printed."""

from __future__ import annotations

from collections.abc import Iterable

from smelter.contracts.faults import printable

_MOST_LINES = 10  # of each kind; the command has all
_MOST_CHARACTERS = 200


def first(lines: list[str], what: str, most: int = _MOST_LINES) -> list[str]:
    """The first few lines, and how many more of them there are."""
    more = len(lines) - most
    return [*lines[:most], *([f"  … {more:,} more {what}"] if more > 0 else [])]


def as_text(lines: Iterable[str]) -> str:
    """Each on one line that can be printed, however long what a record holds."""
    seen = (printable(line) for line in lines)
    return "\n".join(f"{line[:_MOST_CHARACTERS]}…" if len(line) > _MOST_CHARACTERS else line for line in seen)


def counted(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
