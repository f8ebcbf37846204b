"""Which days does it touch? A few ranges of time that hold them all, as a condition by which files are left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from pyiceberg.expressions import (
    AlwaysFalse,
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    IsNull,
    LessThanOrEqual,
    Or,
)

MOST_RANGES = 40
_DAY = timedelta(days=1)
_FIRST_MOMENT, _LAST_MOMENT = "timestamp'{}T00:00:00Z'", "timestamp'{}T23:59:59.999999Z'"


@dataclass(frozen=True)
class Spans:
    """Ranges of whole days in UTC, each from its first day to its last; `has_null`: also rows that have no time."""

    ranges: tuple[tuple[date, date], ...]
    has_null: bool = False

    @classmethod
    def of_days(cls, days: Iterable[date | None], most: int = MOST_RANGES) -> Spans:
        """Ranges that hold the days; where there are too many, those nearest to each other become one."""
        given = set(days)
        ordered = sorted(day for day in given if day is not None)
        gaps = sorted((later - earlier, at) for at, (earlier, later) in enumerate(pairwise(ordered)))
        cuts = sorted(at for gap, at in gaps[::-1][: most - 1] if gap > _DAY)
        firsts = [ordered[at + 1] for at in cuts]
        lasts = [ordered[at] for at in cuts]
        ranges = zip(ordered[:1] + firsts, lasts + ordered[-1:], strict=True)
        return cls(tuple(ranges), has_null=None in given)

    def sql(self, column: str, *, is_date: bool = False) -> str:
        """The condition in Spark's SQL; literals only, so that Iceberg leaves out files by it."""
        first_of, last_of = ("date'{}'", "date'{}'") if is_date else (_FIRST_MOMENT, _LAST_MOMENT)
        parts = [
            f"({column} >= {first_of.format(first)} and {column} <= {last_of.format(last)})"
            for first, last in self.ranges
        ]
        parts += [f"{column} is null"] if self.has_null else []
        return f"({' or '.join(parts)})" if parts else "false"

    def filter(self, column: str) -> BooleanExpression:
        """The same condition for PyIceberg, over a column of times."""
        found: BooleanExpression = IsNull(term=column) if self.has_null else AlwaysFalse()
        for first, last in self.ranges:
            begins = GreaterThanOrEqual(term=column, value=f"{first}T00:00:00+00:00")
            ends = LessThanOrEqual(term=column, value=f"{last}T23:59:59.999999+00:00")
            found = Or(found, And(begins, ends))
        return found
