"""Decoded records to Arrow columns, thousands at a time, and which of them need a closer look.

A row is *suspect* if a check here does not pass; whether it is good is then decided by `problems`, record by record.
Nothing here may accept what `problems` refuses.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from smelter.contracts import Contract, FieldRules
from smelter.contracts.rules import rule_value
from smelter.contracts.times import seconds_of
from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type
from smelter.records.shape import ABSENT, NumberText, arrow_type, member_attribute
from smelter.records.times import DAY_SECONDS, SECOND, TimeReader

Ints = npt.NDArray[np.int64]
Rows = Ints | None  # the row of each value; None if value i belongs to row i


@dataclass
class Account:
    """What was seen while columns were built: suspect rows, and how many quotes the decoded values stand for.

    A key that appears twice leaves one value but two keys in the text, so the text then has more quotes than this.
    """

    rows: int
    arrived_at: int
    suspects: list[Ints] = field(default_factory=list)
    _deferred: list[tuple[Rows, Callable[[], Ints]]] = field(default_factory=list)
    quotes: int = 0

    def suspect(self, rows: Rows, indices: Ints) -> None:
        """Mark the rows of the values at `indices`."""
        if len(indices):
            self.suspects.append(indices if rows is None else rows[indices])

    def saw(self, rows: Rows, total: int, per_value: Callable[[], Ints]) -> None:
        """`total` quotes were seen; `per_value` tells how many for each value, if anybody asks."""
        self.quotes += total
        self._deferred.append((rows, per_value))

    def quotes_per_row(self) -> Ints:
        """How many quotes the decoded values of each row stand for."""
        counts = np.zeros(self.rows, np.int64)
        for rows, per_value in self._deferred:
            found = per_value()
            if rows is None:
                counts += found
            else:
                np.add.at(counts, rows, found)
        return counts


class Column:
    """Builds one column, and the columns inside it."""

    def __init__(self, kind: Type) -> None:
        self.arrow = arrow_type(kind)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        """The Arrow array of decoded values; None and ABSENT are null."""
        raise NotImplementedError


def column_of(kind: Type, rules: FieldRules | None = None, *, nullable: bool = False) -> Column:
    """The builder for a type; only fields and members can be null, never what is inside an array or a map."""
    if isinstance(kind, Struct):
        return _Struct(kind)
    if isinstance(kind, Array):
        return _Array(kind)
    if isinstance(kind, Map):
        return _TextMap(kind) if kind.value == Scalar("string") else _Map(kind)
    if isinstance(kind, Decimal):
        return _Decimals(kind, rules, nullable=nullable)
    return _Times(kind, rules) if kind.name in ("date", "timestamp") else _Plain(kind, rules)


def fields_of(contract: Contract) -> list[Column]:
    """The builders of a contract's fields, in order."""
    return [column_of(rules.kind, rules, nullable=not rules.required) for rules in contract.fields.values()]


def build_fields(columns: Sequence[Column], events: list[Any], rows: Rows, account: Account) -> list[pa.Array]:
    """One array for each field of the decoded structs."""
    arrays = []
    for index, column in enumerate(columns):
        attribute = member_attribute(index)
        values = [getattr(event, attribute) for event in events]
        array = column.build(values, rows, account)
        _count_keys(values, array, rows, account)
        arrays.append(array)
    return arrays


def _count_keys(values: list[Any], array: pa.Array, rows: Rows, account: Account) -> None:
    """Each member that is there has a key with two quotes; a null may be there or not, so those are looked at."""
    total = 2 * (len(values) - array.null_count)
    if array.null_count:
        total += 2 * sum(value is None for value in values)
    account.saw(rows, total, lambda: np.array([2 * (value is not ABSENT) for value in values], np.int64))


def _is_null(array: pa.Array) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _count_strings(array: pa.Array, rows: Rows, account: Account) -> None:
    """Each value that is there is a JSON string with two quotes."""
    account.saw(rows, 2 * (len(array) - array.null_count), lambda: 2 * (~_is_null(array)).astype(np.int64))


class _Plain(Column):
    """Strings, booleans, numbers and bytes: the decoder has checked everything."""

    def __init__(self, kind: Scalar, rules: FieldRules | None) -> None:
        super().__init__(kind)
        self._is_string = kind.name in ("string", "binary")
        listed = rules.one_of if rules is not None and kind.name == "boolean" else None
        self._refused = {True, False} - set(listed) if listed is not None else set()

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        array = pa.array(values, self.arrow, from_pandas=True)
        if self._is_string:
            _count_strings(array, rows, account)
        if self._refused:
            account.suspect(rows, np.flatnonzero([value in self._refused for value in values]))
        return array


class _Times(Column):
    """Dates and timestamps, from their text."""

    def __init__(self, kind: Scalar, rules: FieldRules | None) -> None:
        super().__init__(kind)
        self._is_date = kind.name == "date"
        self._reader = TimeReader(rules.format if rules else None, rules.zone if rules else None, self._is_date)
        self._least, self._most = (_moment(kind, rules, rule) for rule in ("min", "max"))
        self._lead = seconds_of(rules.not_after_arrival) if rules and rules.not_after_arrival else None
        listed = rules.one_of if rules is not None else None
        self._listed = [moment_number(rule_value(kind, v, "one_of")) for v in listed] if listed is not None else None

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        texts = pa.array(values, pa.string(), from_pandas=True)
        _count_strings(texts, rows, account)
        buffers = texts.buffers()
        offsets = np.frombuffer(buffers[1], np.int32, len(texts) + 1).astype(np.int64)
        data = np.frombuffer(buffers[2] if buffers[2] is not None else b"", np.uint8)
        if texts.null_count:
            there = np.flatnonzero(~_is_null(texts))
            moments = np.zeros(len(texts), np.int64)
            wrong = np.zeros(len(texts), np.bool_)
            found, bad = self._reader.read_column(data, offsets[there], np.diff(offsets)[there])
            moments[there], wrong[there] = found, bad | self._breaks_a_rule(found, account)
        else:
            moments, bad = self._reader.read_column(data, offsets[:-1], np.diff(offsets))
            wrong = bad | self._breaks_a_rule(moments, account)
        account.suspect(rows, np.flatnonzero(wrong))
        moments[wrong] = 0
        stored = pa.array(moments.astype(np.int32) if self._is_date else moments)
        return pa.Array.from_buffers(self.arrow, len(texts), [buffers[0], stored.buffers()[1]], texts.null_count)

    def _breaks_a_rule(self, moments: Ints, account: Account) -> npt.NDArray[np.bool_]:
        broken = np.zeros(len(moments), np.bool_)
        if self._least is not None:
            broken |= moments < self._least
        if self._most is not None:
            broken |= moments > self._most
        if self._lead is not None:
            broken |= moments > latest_moment(account.arrived_at, self._lead, is_date=self._is_date)
        if self._listed is not None:
            broken |= ~np.isin(moments, self._listed)
        return broken


def latest_moment(arrived_at: int, lead_seconds: int, *, is_date: bool) -> int:
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


class _Decimals(Column):
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
        if number is None or (self._least is not None and number < self._least):
            return _WRONG
        if (self._most is not None and number > self._most) or (self._listed is not None and number not in self._listed):
            return _WRONG
        return number


_WRONG = object()
_EXACT = decimal.Context(prec=400, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_LONGEST_NUMBER = 400


def exact_decimal(text: str, kind: Decimal) -> decimal.Decimal | None:
    """The number that a JSON number's text stands for, or None if the type cannot hold it exactly."""
    if len(text) > _LONGEST_NUMBER:
        return None
    number = decimal.Decimal(text)
    if not number:
        return decimal.Decimal(0)
    if number.adjusted() >= kind.precision - kind.scale:
        return None
    scaled = number.scaleb(kind.scale, _EXACT)
    return number if scaled == scaled.to_integral_value(context=_EXACT) else None


class _Array(Column):
    """Lists, without nulls inside."""

    def __init__(self, kind: Array) -> None:
        super().__init__(kind)
        self._element = column_of(kind.element)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        inner_rows, offsets, nulls = _spread(values, rows)
        inside = [item for value in values if value.__class__ is list for item in value]
        elements = self._element.build(inside, inner_rows, account)
        return _nested(self.arrow, offsets, nulls, [elements])


class _Map(Column):
    """Maps with values of one type, without nulls inside."""

    def __init__(self, kind: Map) -> None:
        super().__init__(kind)
        self._value = column_of(kind.value)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        inner_rows, offsets, nulls = _spread(values, rows)
        keys: list[str] = []
        inside: list[Any] = []
        for value in values:
            if value.__class__ is dict:
                keys += value
                inside += value.values()
        keys_array = pa.array(keys, pa.string())
        _count_strings(keys_array, inner_rows, account)
        return _nested(self.arrow, offsets, nulls, [keys_array, self._values(inside, inner_rows, account)])

    def _values(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        return self._value.build(values, rows, account)


class _TextMap(_Map):
    """`map<string,string>`: any scalar, as its exact text."""

    def _values(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        kinds = set(map(type, values))
        if kinds <= {str}:
            account.saw(rows, 2 * len(values), lambda: np.full(len(values), 2, np.int64))
            return pa.array(values, pa.string())
        strings = sum(type(value) is str for value in values)
        account.saw(rows, 2 * strings, lambda: np.array([2 * (type(v) is str) for v in values], np.int64))
        if not kinds <= _SCALARS:
            account.suspect(rows, np.flatnonzero([type(value) not in _SCALARS for value in values]))
        return pa.array([value if isinstance(value, str) else scalar_text(value) for value in values], pa.string())


_SCALARS = {str, NumberText, int, bool}


def scalar_text(value: Any) -> str:
    """The source text of a decoded scalar that is not a string."""
    if value is True or value is False:
        return "true" if value else "false"
    return str(value) if type(value) is int else ""


class _Struct(Column):
    """Named members, each a column of its own."""

    def __init__(self, kind: Struct) -> None:
        super().__init__(kind)
        self._members = [column_of(member.type, nullable=not member.required) for member in kind.members]
        self._fields = list(self.arrow)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        nulls = np.array([value is None or value is ABSENT for value in values], np.bool_)
        there = [value for value in values if value is not None and value is not ABSENT]
        places = np.flatnonzero(~nulls)
        inner_rows = places if rows is None else rows[places]
        members = build_fields(self._members, there, inner_rows, account)
        if nulls.any():  # every child must be as long as the struct: its nulls repeat the first value, or null
            take = pa.array(np.where(nulls, 0, np.cumsum(~nulls) - 1), mask=None if there else nulls)
            members = [_fit(member, take, len(values)) for member in members]
        mask = pa.array(nulls) if nulls.any() else None
        return pa.StructArray.from_arrays(members, fields=self._fields, mask=mask)


def _fit(member: pa.Array, take: pa.Array, length: int) -> pa.Array:
    return member.take(take) if len(member) else pa.nulls(length, member.type)


def _spread(values: list[Any], rows: Rows) -> tuple[Ints, Ints, npt.NDArray[np.bool_] | None]:
    """For containers: the row of each value inside, the offsets, and which containers are null."""
    lengths = np.array([len(v) if v is not None and v is not ABSENT else -1 for v in values], np.int64)
    nulls = lengths < 0
    counts = np.where(nulls, 0, lengths)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    inner_rows = np.repeat(np.arange(len(values)) if rows is None else rows, counts)
    return inner_rows, offsets, nulls if nulls.any() else None


def _nested(
    arrow: pa.DataType, offsets: Ints, nulls: npt.NDArray[np.bool_] | None, children: list[pa.Array]
) -> pa.Array:
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    starts = pa.py_buffer(offsets.astype(np.int32).tobytes())
    if len(children) == 2:
        entry = pa.struct([arrow.key_field, arrow.item_field])
        children = [pa.StructArray.from_arrays(children, fields=list(entry))]
    null_count = 0 if nulls is None else int(nulls.sum())
    return pa.Array.from_buffers(arrow, len(offsets) - 1, [validity, starts], null_count, children=children)
