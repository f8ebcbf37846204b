"""The value at a place of a window, with as much of the text as it takes; and how a record ends."""

from __future__ import annotations

from dataclasses import dataclass

from smelter.ledger.grammar import Outcome, Value, follow
from smelter.ledger.limits import CountLimits
from smelter.ledger.window import Window


@dataclass(frozen=True)
class Ending:
    """A record that was passed: the beginning of its text, and whether it speaks for the end of the text too."""

    text: bytes
    is_last: bool = False


def value_at(window: Window, offset: int, limits: CountLimits) -> Value | None:
    """Follow the value so many bytes after the window's place; none, if it is longer than a record may be."""
    while True:
        start = window.at + offset
        value = follow(window.data, start, limits.max_depth)
        if value.end - start > limits.max_record_bytes:
            return None
        if window.has_ended or not _may_go_on(value, window.data):
            return value
        window.grow()


def _may_go_on(value: Value, data: bytes) -> bool:
    """Is it open, or a number that more digits may follow?"""
    is_number = data[value.end - 1 : value.end].isdigit()
    return value.end == len(data) and (value.outcome is Outcome.OPEN or is_number)
