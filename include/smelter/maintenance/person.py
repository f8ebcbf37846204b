"""Who is meant? A condition on fields, taken apart, so that it can be asked of a table and of a letter's text alike.

Nothing of what a person typed reaches an engine as it is: columns are quoted, and values are bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any

from smelter.explore.quoting import quoted_name

Value = str | int | float | Decimal | bool | date | datetime
Verdict = bool | None  # nothing: it cannot be told


class Op(StrEnum):
    """How a field is compared."""

    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    IN = "in"
    NOT_IN = "not in"
    LIKE = "like"
    NOT_LIKE = "not like"
    IS_NULL = "is null"
    IS_NOT_NULL = "is not null"


OPPOSITE = {
    Op.EQUAL: Op.UNEQUAL,
    Op.LESS: Op.AT_LEAST,
    Op.MORE: Op.AT_MOST,
    Op.IN: Op.NOT_IN,
    Op.LIKE: Op.NOT_LIKE,
    Op.IS_NULL: Op.IS_NOT_NULL,
}
OPPOSITE |= {opposite: op for op, opposite in OPPOSITE.items()}


@dataclass(frozen=True)
class Comparison:
    """One field against values."""

    field: str
    op: Op
    values: tuple[Value, ...] = ()

    @property
    def names_values(self) -> bool:
        """Does it say which values are meant, so that a text can be searched for them?"""
        return self.op in (Op.EQUAL, Op.IN)

    def holds(self, value: Value | None) -> Verdict:
        """Is it so for a value of the field's own type, by the rules of SQL?"""
        if self.op in (Op.IS_NULL, Op.IS_NOT_NULL):
            return (value is None) == (self.op is Op.IS_NULL)
        return None if value is None else _TESTS[self.op](self, value)

    @cached_property
    def chosen(self) -> frozenset[Value]:
        """The values, for a quick look."""
        return frozenset(self.values)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What LIKE means."""
        marks = {"%": ".*", "_": "."}
        text = "".join(marks.get(one) or re.escape(one) for one in str(self.values[0]))
        return re.compile(text, re.DOTALL)


@dataclass(frozen=True)
class Every:
    """All of these must be so."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Some:
    """One of these must be so."""

    parts: tuple[Condition, ...]


Condition = Comparison | Every | Some


def decide(condition: Condition, told: Callable[[Comparison], Verdict]) -> Verdict:
    """What comparisons mean together; one that cannot be told is left out, and decides nothing."""
    if isinstance(condition, Comparison):
        return told(condition)
    verdicts = [one for one in (decide(part, told) for part in condition.parts) if one is not None]
    if not verdicts:
        return None
    return all(verdicts) if isinstance(condition, Every) else any(verdicts)


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """Every comparison in it."""
    if isinstance(condition, Comparison):
        yield condition
        return
    for part in condition.parts:
        yield from comparisons(part)


def sql_of(condition: Condition) -> tuple[str, dict[str, Any]]:
    """The condition in DuckDB's SQL, and the values that are bound to its marks."""
    bound: dict[str, Any] = {}
    return _sql(condition, bound), bound


def _sql(condition: Condition, bound: dict[str, Any]) -> str:
    if isinstance(condition, Comparison):
        return _comparison_sql(condition, bound)
    word = " and " if isinstance(condition, Every) else " or "
    return f"({word.join(_sql(part, bound) for part in condition.parts)})"


def _comparison_sql(one: Comparison, bound: dict[str, Any]) -> str:
    marks = []
    for value in one.values:
        marks.append(f"$value{len(bound)}")
        bound[marks[-1][1:]] = value
    values = f"({', '.join(marks)})" if one.op in (Op.IN, Op.NOT_IN) else "".join(marks)
    return f"({quoted_name(one.field)} {one.op.value} {values})"


_TESTS: dict[Op, Callable[[Comparison, Any], bool]] = {
    Op.EQUAL: lambda one, value: value == one.values[0],
    Op.UNEQUAL: lambda one, value: value != one.values[0],
    Op.LESS: lambda one, value: value < one.values[0],
    Op.AT_MOST: lambda one, value: value <= one.values[0],
    Op.MORE: lambda one, value: value > one.values[0],
    Op.AT_LEAST: lambda one, value: value >= one.values[0],
    Op.IN: lambda one, value: value in one.chosen,
    Op.NOT_IN: lambda one, value: value not in one.chosen,
    Op.LIKE: lambda one, value: one.pattern.fullmatch(value) is not None,
    Op.NOT_LIKE: lambda one, value: one.pattern.fullmatch(value) is None,
}
