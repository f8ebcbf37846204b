"""Runs of good records: one pattern takes each; what it does not take is left to the slower code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from smelter.ledger.grammar import SHALLOW_LEVELS, WHITE, shallow_object
from smelter.ledger.limits import CountLimits
from smelter.ledger.window import Window


@dataclass(frozen=True)
class Records:
    """Records that follow one another, as places in a piece of text."""

    piece: bytes
    places: list[tuple[int, int]]

    @classmethod
    def of_one(cls, text: bytes) -> Records:
        """One record, or the beginning of a long one."""
        return cls(text, [(0, len(text))])


def run_of_documents(window: Window, limits: CountLimits) -> Records | None:
    """Pass over objects whose line ends after them or goes on with a bracket that opens; none, if there is none."""
    return _pass_run(_document(_levels(limits)), window, limits)


def run_of_elements(window: Window, limits: CountLimits) -> Records | None:
    """Pass over objects with a comma and another object after them; none, if there is none."""
    return _pass_run(_element(_levels(limits)), window, limits)


def _levels(limits: CountLimits) -> int:
    return min(SHALLOW_LEVELS, limits.max_depth)


@cache
def _document(levels: int) -> re.Pattern[bytes]:
    return re.compile(rb"(" + shallow_object(levels) + rb")[ \t\r]*+(?:\n" + WHITE + rb"|(?=[\[{]))")


@cache
def _element(levels: int) -> re.Pattern[bytes]:
    return re.compile(rb"(" + shallow_object(levels) + rb")" + WHITE + rb"," + WHITE + rb"(?=\{)")


def _pass_run(pattern: re.Pattern[bytes], window: Window, limits: CountLimits) -> Records | None:
    places: list[tuple[int, int]] = []
    match, at = pattern.match, window.at
    while (found := match(window.data, at)) is not None:
        start, end = found.span(1)
        if end - start > limits.max_record_bytes:
            break
        places.append((start, end))
        at = found.end()
    window.at = at
    return Records(window.data, places) if places else None
