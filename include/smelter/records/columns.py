"""Decoded records to Arrow columns, thousands at a time, and which of them need a closer look.

A row is *suspect* if a check here does not pass; whether it is good is then decided by `problems`, record by record.
Nothing here may accept what `problems` refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from smelter.contracts import Contract, FieldRules
from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type
from smelter.records.account import Account, Rows
from smelter.records.leaves import Column, Decimals, Plain, Times
from smelter.records.nesting import nested, spread
from smelter.records.shape import ABSENT, member_attribute
from smelter.records.text_maps import TextMap


def column_of(kind: Type, rules: FieldRules | None = None, *, nullable: bool = False) -> Column:
    """The builder for a type; only fields and members can be null, never what is inside an array or a map."""
    if isinstance(kind, Struct):
        return _Struct(kind)
    if isinstance(kind, Array):
        return _Array(kind)
    if isinstance(kind, Map):
        return TextMap(kind, nullable=nullable) if kind.value == Scalar("string") else _Map(kind)
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
        total += 2 * len([value for value in values if value is None])
    account.saw(rows, total, lambda: np.array([2 * (value is not ABSENT) for value in values], np.int64))


class _Array(Column):
    """Lists, without nulls inside."""

    def __init__(self, kind: Array) -> None:
        super().__init__(kind)
        self._element = column_of(kind.element)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        there, inner_rows, offsets, nulls = spread(values, rows)
        elements = self._element.build(list(chain.from_iterable(there)), inner_rows, account)
        return nested(self.arrow, offsets, nulls, elements)


class _Map(Column):
    """Maps with values of one type, without nulls inside."""

    def __init__(self, kind: Map) -> None:
        super().__init__(kind)
        self._value = column_of(kind.value)

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        there, inner_rows, offsets, nulls = spread(values, rows)
        keys = pa.array(list(chain.from_iterable(there)), pa.string())
        account.saw_strings(inner_rows, keys)
        items = self._value.build(list(chain.from_iterable(map(dict.values, there))), inner_rows, account)
        entries = pa.StructArray.from_arrays([keys, items], fields=[self.arrow.key_field, self.arrow.item_field])
        return nested(self.arrow, offsets, nulls, entries)


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
