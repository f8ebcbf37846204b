"""Decoded records to Arrow columns, thousands at a time, and which of them need a closer look.

A row is *suspect* if a check here does not pass; whether it is good is then decided by `problems`, record by record.
Nothing here may accept what `problems` refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, compress
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from smelter.contracts import Contract, FieldRules
from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type
from smelter.records.account import Account, Bools, Ints, Rows
from smelter.records.leaves import Column, Decimals, Plain, Times
from smelter.records.shape import ABSENT, NumberText, member_attribute


def column_of(kind: Type, rules: FieldRules | None = None, *, nullable: bool = False) -> Column:
    """The builder for a type; only fields and members can be null, never what is inside an array or a map."""
    if isinstance(kind, Struct):
        return _Struct(kind)
    if isinstance(kind, Array):
        return _Array(kind)
    if isinstance(kind, Map):
        return _TextMap(kind) if kind.value == Scalar("string") else _Map(kind)
    if isinstance(kind, Decimal):
        return Decimals(kind, rules, nullable=nullable)
    return Times(kind, rules) if kind.name in ("date", "timestamp") else Plain(kind, rules)


def fields_of(contract: Contract) -> list[Column]:
    """The builders of a contract's fields, in order."""
    return [column_of(rules.kind, rules, nullable=not rules.required) for rules in contract.fields.values()]


def build_fields(columns: Sequence[Column], events: list[Any], rows: Rows, account: Account) -> list[pa.Array]:
    """One array for each field of the decoded structs."""
    arrays = []
    for index, column in enumerate(columns):
        values = list(map(attrgetter(member_attribute(index)), events))
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


class _Array(Column):
    """Lists, without nulls inside."""

    def __init__(self, kind: Array) -> None:
        super().__init__(kind)
        self._element = column_of(kind.element)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        there, inner_rows, offsets, nulls = _spread(values, rows)
        elements = self._element.build(list(chain.from_iterable(there)), inner_rows, account)
        return _nested(self.arrow, offsets, nulls, elements)


class _Map(Column):
    """Maps with values of one type, without nulls inside."""

    def __init__(self, kind: Map) -> None:
        super().__init__(kind)
        self._value = column_of(kind.value)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        there, inner_rows, offsets, nulls = _spread(values, rows)
        keys = pa.array(list(chain.from_iterable(there)), pa.string())
        account.saw_strings(inner_rows, keys)
        items = self._items(list(chain.from_iterable(map(dict.values, there))), inner_rows, account)
        entries = pa.StructArray.from_arrays([keys, items], fields=[self.arrow.key_field, self.arrow.item_field])
        return _nested(self.arrow, offsets, nulls, entries)

    def _items(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        return self._value.build(values, rows, account)


class _TextMap(_Map):
    """`map<string,string>`: any scalar, as its exact text."""

    def _items(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        kinds = list(map(type, values))
        account.saw(rows, 2 * kinds.count(str), lambda: 2 * np.array([kind is str for kind in kinds], np.int64))
        others = set(kinds) - {str, NumberText}
        if others - {int, bool}:
            account.suspect(rows, np.flatnonzero([kind not in _SCALARS for kind in kinds]))
        if others:
            self._to_texts(values, kinds, others, rows, account)
        return pa.array(values, pa.string())

    def _to_texts(self, values: list[Any], kinds: list[type], others: set[type], rows: Rows, account: Account) -> None:
        """Replace what is not a text yet by its text, in place; `-0` has become 0, so zeros are told of."""
        places = list(compress(range(len(values)), map(others.__contains__, kinds)))
        zeros = [place for place in places if values[place] == 0 and kinds[place] is int]
        for place in places:
            values[place] = _SCALAR_TEXTS.get(kinds[place], _no_text)(values[place])
        if zeros:
            account.zero(rows, np.array(zeros, np.int64))


_SCALARS = {str, NumberText, int, bool}
_SCALAR_TEXTS: dict[type, Callable[[Any], str]] = {int: int.__repr__, bool: {True: "true", False: "false"}.__getitem__}


def _no_text(_value: Any) -> str:
    """Stands for what is no scalar; its row is suspect already."""
    return ""


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


def _spread(values: list[Any], rows: Rows) -> tuple[list[Any], Ints, Ints, Bools | None]:
    """Containers that are there, the row of each value inside, the offsets, and which containers are null."""
    there = [value for value in values if value is not None and value is not ABSENT]
    nulls = None
    counts = np.fromiter(map(len, there), np.int64, len(there))
    if len(there) < len(values):
        nulls = np.array([value is None or value is ABSENT for value in values], np.bool_)
        counts_there, counts = counts, np.zeros(len(values), np.int64)
        counts[~nulls] = counts_there
    offsets = np.concatenate(([0], np.cumsum(counts)))
    inner_rows = np.repeat(np.arange(len(values)) if rows is None else rows, counts)
    return there, inner_rows, offsets, nulls


def _nested(arrow: pa.DataType, offsets: Ints, nulls: Bools | None, inside: pa.Array) -> pa.Array:
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    null_count = 0 if nulls is None else int(nulls.sum())
    starts = pa.py_buffer(offsets.astype(np.int32).tobytes())
    return pa.Array.from_buffers(arrow, len(offsets) - 1, [validity, starts], null_count, children=[inside])
