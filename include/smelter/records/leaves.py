"""Columns of single values: strings, numbers, bytes, times and exact numbers."""

from __future__ import annotations

import decimal
import re
from typing import Any

import numpy as np
import pyarrow as pa

from smelter.contracts import FieldRules
from smelter.contracts.rules import rule_value
from smelter.contracts.times import seconds_of
from smelter.contracts.types import Decimal, Scalar, Type
from smelter.records.account import Account, Arrival, Bools, Ints, Rows, is_null
from smelter.records.shape import ABSENT, NumberText, arrow_type
from smelter.records.time_columns import TimeColumns
from smelter.records.times import DAY_SECONDS, SECOND, TimeReader


class Column:
    """Builds one column, and the columns inside it."""

    def __init__(self, kind: Type) -> None:
        self.arrow = arrow_type(kind)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        """The Arrow array of decoded values; None and ABSENT are null."""
        raise NotImplementedError


class Plain(Column):
    """Strings, booleans, numbers and bytes: the decoder has checked everything."""

    def __init__(self, kind: Scalar, rules: FieldRules | None) -> None:
        super().__init__(kind)
        self._is_string = kind.name in ("string", "binary")
        listed = rules.one_of if rules is not None and kind.name == "boolean" else None
        self._refused = {True, False} - set(listed) if listed is not None else set()

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        array = pa.array(values, self.arrow, from_pandas=True)
        if self._is_string:
            account.saw_strings(rows, array)
        if self._refused:
            account.suspect(rows, np.flatnonzero([value in self._refused for value in values]))
        return array


class Times(Column):
    """Dates and timestamps, from their text."""

    def __init__(self, kind: Scalar, rules: FieldRules | None) -> None:
        super().__init__(kind)
        self._is_date = kind.name == "date"
        self._reader = TimeReader(rules.format if rules else None, rules.zone if rules else None, self._is_date)
        self._columns = TimeColumns(self._reader)
        self._least, self._most = (_moment(kind, rules, rule) for rule in ("min", "max"))
        self._lead = seconds_of(rules.not_after_arrival) if rules and rules.not_after_arrival else None
        listed = rules.one_of if rules is not None else None
        self._listed = [moment_number(rule_value(kind, v, "one_of")) for v in listed] if listed is not None else None

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        texts = pa.array(values, pa.string(), from_pandas=True)
        account.saw_strings(rows, texts)
        buffers = texts.buffers()
        offsets = np.frombuffer(buffers[1], np.int32, len(texts) + 1).astype(np.int64)
        data = np.frombuffer(buffers[2] if buffers[2] is not None else b"", np.uint8)
        there = np.flatnonzero(~is_null(texts)) if texts.null_count else np.arange(len(texts))
        moments = np.zeros(len(texts), np.int64)
        wrong = np.zeros(len(texts), np.bool_)
        found, bad = self._columns.read(data, offsets[there], np.diff(offsets)[there])
        for place in np.flatnonzero(bad).tolist():  # the reader of single texts has the last word
            moment = self._reader.read(values[there[place]])
            if moment is not None:
                found[place], bad[place] = moment, False
        moments[there], wrong[there] = found, bad | self._breaks_a_rule(found, account.arrived(rows, there))
        account.suspect(rows, np.flatnonzero(wrong))
        moments[wrong] = 0
        stored = pa.array(moments.astype(np.int32) if self._is_date else moments)
        return pa.Array.from_buffers(self.arrow, len(texts), [buffers[0], stored.buffers()[1]], texts.null_count)

    def _breaks_a_rule(self, moments: Ints, arrived_at: Arrival) -> Bools:
        broken = np.zeros(len(moments), np.bool_)
        if self._least is not None:
            broken |= moments < self._least
        if self._most is not None:
            broken |= moments > self._most
        if self._lead is not None:
            broken |= moments > latest_moment(arrived_at, self._lead, is_date=self._is_date)
        if self._listed is not None:
            broken |= ~np.isin(moments, self._listed)
        return broken


def latest_moment(arrived_at: Arrival, lead_seconds: int, *, is_date: bool) -> Arrival:
    """The latest time that `not_after_arrival` allows, in the unit of the type."""
    latest = arrived_at + lead_seconds * SECOND
    return latest // (DAY_SECONDS * SECOND) if is_date else latest


def _moment(kind: Type, rules: FieldRules | None, rule: str) -> int | None:
    value = getattr(rules, rule, None)
    return None if value is None else moment_number(rule_value(kind, value, rule))


def moment_number(value: Any) -> int:
    """A date as days, a moment as microseconds."""
    array = pa.scalar(value, pa.timestamp("us", "UTC") if hasattr(value, "hour") else pa.date32())
    number: int = array.value
    return number


class Decimals(Column):
    """Exact numbers: integers, or the text of a number with a point or an exponent."""

    def __init__(self, kind: Decimal, rules: FieldRules | None, *, nullable: bool) -> None:
        super().__init__(kind)
        self._kind = kind
        self._nulls = (None, ABSENT) if nullable else ()
        bounds = (getattr(rules, rule, None) for rule in ("min", "max"))
        self._least, self._most = (None if value is None else rule_value(kind, value, "rule") for value in bounds)
        listed = rules.one_of if rules is not None else None
        self._listed = None if listed is None else {rule_value(kind, v, "one_of") for v in listed}

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        numbers = [value if value in self._nulls else self._number(value) for value in values]
        wrong = [index for index, number in enumerate(numbers) if number is _WRONG]
        for index in wrong:
            numbers[index] = decimal.Decimal(0)
        account.suspect(rows, np.array(wrong, np.int64))
        return pa.array(numbers, self.arrow, from_pandas=True)

    def _number(self, value: Any) -> Any:
        if type(value) is not NumberText and type(value) is not int:
            return _WRONG
        number = exact_decimal(str(value), self._kind)
        if number is None or (self._listed is not None and number not in self._listed):
            return _WRONG
        too_small = self._least is not None and number < self._least
        too_large = self._most is not None and number > self._most
        return _WRONG if too_small or too_large else number


_WRONG = object()
_EXACT = decimal.Context(prec=400, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_LONGEST_NUMBER = 400
_IS_ZERO = re.compile(r"-?0(\.0+)?([eE].*)?")


def exact_decimal(text: str, kind: Decimal) -> decimal.Decimal | None:
    """The number that a JSON number's text stands for, or None if the type cannot hold it exactly."""
    if len(text) > _LONGEST_NUMBER:
        return None
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:  # an exponent beyond what any number needs
        return decimal.Decimal(0) if _IS_ZERO.fullmatch(text) else None
    if not number:
        return decimal.Decimal(0)
    if number.adjusted() >= kind.precision - kind.scale:
        return None
    scaled = number.scaleb(kind.scale, _EXACT)
    return number if scaled == scaled.to_integral_value(context=_EXACT) else None
