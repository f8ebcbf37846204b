"""What does not fit together in a contract? Each misfit with its place, so that all of them are told at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Misfit:
    """One thing that does not fit: where it is, below the part that was checked, and what is wrong."""

    path: tuple[str | int, ...]
    message: str


class Misfits(ValueError):
    """Everything that does not fit in one part of a contract."""

    def __init__(self, found: tuple[Misfit, ...]) -> None:
        super().__init__("; ".join(misfit.message for misfit in found))
        self.found = found


def refuse(found: Iterable[Misfit]) -> None:
    """Raise all misfits together, if there are any."""
    misfits = tuple(found)
    if misfits:
        raise Misfits(misfits)


def nearest(word: str, allowed: Iterable[str], likeness: float = 0.6) -> str:
    """`; did you mean …?` with the nearest spelling, or nothing."""
    near = difflib.get_close_matches(word.lower(), list(allowed), n=1, cutoff=likeness)
    return f"; did you mean `{near[0]}`?" if near else ""
