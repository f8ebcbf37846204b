"""What was asked about some rows, and what was found: frozen, so that it can be told, recorded and acted upon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from smelter.contracts.checks import Check

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Scope = Literal["increment", "table"]


class Decision(StrEnum):
    """What became of the rows that were judged."""

    PUBLISHED = "published"
    STOPPED = "stopped"
    OVERRIDDEN = "overridden"  # a check would have stopped them, and somebody gave a reason to publish all the same
    MEASURED = "measured"  # nothing was to be published: they are in the table already


def _no_other(dataset: str) -> DataFrame:
    raise KeyError(dataset)


@dataclass(frozen=True)
class Question:
    """Which rows are judged, under which contract, by whom and when."""

    dataset: str
    contract: str
    scope: Scope
    run: str
    at: datetime
    key: tuple[str, ...] = ()  # of silver: one row per key is there by construction in an increment
    source: str = ""
    others: Callable[[str], DataFrame] = _no_other  # the rows of another dataset

    def holds_by_construction(self, check: Check) -> bool:
        """Is it true without a look, because the increment has one row per key?"""
        return check.check == "unique" and self.scope == "increment" and set(self.key) <= set(check.columns or ())


@dataclass(frozen=True)
class Example:
    """A row that a check failed on, and what was found there."""

    source: str
    position: int
    found: str


@dataclass(frozen=True)
class Result:
    """What one check found."""

    name: str
    check: str
    column: str
    on_failure: str
    ok: bool
    found: float | None
    wanted: str
    sentence: str
    rows: int
    failing: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What all checks found."""

    results: tuple[Result, ...]
    rows: int
    at: datetime
    validation: str = field(default="", repr=False)  # Great Expectations' own result, as JSON

    @property
    def stopped(self) -> tuple[Result, ...]:
        """The failures for which nothing may be published."""
        return tuple(one for one in self.results if not one.ok and one.on_failure == "stop")

    @property
    def warned(self) -> tuple[Result, ...]:
        """The failures that are only said."""
        return tuple(one for one in self.results if not one.ok and one.on_failure == "warn")
