"""The windows that a model can have: fixed ones on a grid, sessions that end with a pause, or none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from smelter.contracts.misfit import nearest
from smelter.contracts.names import name_problem
from smelter.contracts.times import seconds_of

MOST_PER_ROW = 1000
_KINDS = ("tumbling", "sliding", "session", "none")
_HOW = {
    "tumbling": "tumbling 1m",
    "sliding": "sliding 10m every 5m",
    "session": "session gap 10m by user_id",
    "none": "none",
}
_SHAPES = {
    "tumbling": re.compile(r"(\S+)"),
    "sliding": re.compile(r"(\S+) every (\S+)"),
    "session": re.compile(r"gap (\S+) by (\S.*)"),
    "none": re.compile(r""),
}


@dataclass(frozen=True)
class Fixed:
    """Windows of one size, one every so many seconds since 1970 in UTC; a row is in each that holds its time."""

    size_seconds: int
    every_seconds: int

    @property
    def most_per_row(self) -> int:
        """The largest number of windows that one row is in."""
        return -(-self.size_seconds // self.every_seconds)

    def __str__(self) -> str:
        if self.size_seconds == self.every_seconds:
            return f"tumbling {self.size_seconds}s"
        return f"sliding {self.size_seconds}s every {self.every_seconds}s"


@dataclass(frozen=True)
class Sessions:
    """Rows with the same `by`, until a pause of at least the gap: from the first event to the last one plus the gap."""

    gap_seconds: int
    by: tuple[str, ...]

    def __str__(self) -> str:
        return f"session gap {self.gap_seconds}s by {', '.join(self.by)}"


Window = Fixed | Sessions | None


def parse_window(text: str) -> Window:
    """Read a header's `window:`; raises ValueError with what is allowed."""
    kind, _, rest = " ".join(text.split()).partition(" ")
    if kind not in _KINDS:
        raise ValueError(f"`{kind}` is no kind of window{nearest(kind, _KINDS)} (allowed: {', '.join(_KINDS)})")
    match = _SHAPES[kind].fullmatch(rest)
    if match is None:
        raise ValueError(f"`{text}` is not a window; write {_HOW[kind]}")
    if kind == "tumbling":
        return Fixed(seconds_of(match[1]), seconds_of(match[1]))
    if kind == "sliding":
        return _sliding(seconds_of(match[1]), seconds_of(match[2]), text)
    return _sessions(match[1], match[2]) if kind == "session" else None


def _sliding(size: int, every: int, text: str) -> Fixed:
    if every > size:
        raise ValueError(f"`{text}` would leave rows out: `every` is longer than the window")
    window = Fixed(size, every)
    if window.most_per_row > MOST_PER_ROW:
        raise ValueError(
            f"`{text}` puts a row into {window.most_per_row:,} windows; at most {MOST_PER_ROW:,} are taken"
        )
    return window


def _sessions(gap: str, names: str) -> Sessions:
    by = tuple(name.strip() for name in names.split(","))
    for place, name in enumerate(by):
        problem = name_problem(name)
        if problem is not None:
            raise ValueError(problem)
        if name in by[:place]:
            raise ValueError(f"`{name}` is in `by` twice")
    return Sessions(seconds_of(gap), by)
