"""Columns of `map<string,string>`: any scalar, as its exact text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, compress
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from smelter.contracts.types import Map
from smelter.records.account import Account, Bools, Ints, Rows
from smelter.records.leaves import Column
from smelter.records.map_entries import Entries, entries_of
from smelter.records.nesting import nested, offsets_of
from smelter.records.shape import ABSENT, NumberText

_decode = msgspec.json.Decoder(dict[str, Any], float_hook=NumberText).decode
_SCALARS = {str, NumberText, int, bool}
_SCALAR_TEXTS: dict[type, Callable[[Any], str]] = {int: int.__repr__, bool: {True: "true", False: "false"}.__getitem__}
_NULL = b"null"


class TextMap(Column):
    """Takes the raw text of each map, or a dict where somebody has decoded it."""

    def __init__(self, kind: Map, *, nullable: bool) -> None:
        super().__init__(kind)
        self._nullable = nullable
        self._fields = [self.arrow.key_field, self.arrow.item_field]

    def build(self, values: list[Any], rows: Rows, account: Account) -> pa.Array:
        """Plain maps all at once, odd ones as dicts; a text of `null` becomes None among the values."""
        kinds = set(map(type, values))
        places = _places_of_raw(values, kinds)
        found = entries_of(values if kinds == {msgspec.Raw} else [values[place] for place in places.tolist()])
        account.suspect(rows, places[found.repeated])
        strings = found.is_string
        entry_rows = np.repeat(places if rows is None else rows[places], found.counts)
        account.saw(entry_rows, 2 * (len(strings) + int(np.count_nonzero(strings))), lambda: 2 + 2 * strings)
        if len(places) == len(values) and not found.odd.any():
            return self._map(found.counts, None, found.keys, found.items)
        for place in places[found.odd].tolist():
            values[place] = self._decoded(values[place], place, rows, account)
        return self._among_dicts(values, places, found, rows, account)

    def _map(self, counts: Ints, nulls: Bools | None, keys: pa.Array, items: pa.Array) -> pa.Array:
        entries = pa.StructArray.from_arrays([keys, items], fields=self._fields)
        return nested(self.arrow, offsets_of(counts), nulls, entries)

    def _decoded(self, text: Any, place: int, rows: Rows, account: Account) -> dict[str, Any] | None:
        """A map that is not plain; what is no map leaves an empty one, and a row that is suspect."""
        if bytes(text) == _NULL and self._nullable:
            return None
        try:
            return _decode(text)
        except (msgspec.MsgspecError, RecursionError):
            account.suspect(rows, np.array([place]))
            return {}

    def _among_dicts(self, values: list[Any], places: Ints, found: Entries, rows: Rows, account: Account) -> pa.Array:
        """The entries of dicts and of plain texts, each at its row."""
        dicts = np.array([place for place, value in enumerate(values) if isinstance(value, dict)], np.int64)
        there = [values[place] for place in dicts.tolist()]
        sizes = np.fromiter(map(len, there), np.int64, len(there))
        keys, items = self._of_dicts(there, np.repeat(dicts if rows is None else rows[dicts], sizes), account)
        counts = np.zeros(len(values), np.int64)
        counts[places], counts[dicts] = found.counts, sizes
        order = np.argsort(np.concatenate((np.repeat(places, found.counts), np.repeat(dicts, sizes))), kind="stable")
        keys, items = (
            pa.concat_arrays(both).take(pa.array(order)) for both in ((found.keys, keys), (found.items, items))
        )
        nulls = np.array([value is None or value is ABSENT for value in values], np.bool_)
        return self._map(counts, nulls if nulls.any() else None, keys, items)

    def _of_dicts(self, there: list[dict[str, Any]], rows: Ints, account: Account) -> tuple[pa.Array, pa.Array]:
        keys = pa.array(list(chain.from_iterable(there)), pa.string())
        account.saw_strings(rows, keys)
        return keys, _texts(list(chain.from_iterable(map(dict.values, there))), rows, account)


def _places_of_raw(values: list[Any], kinds: set[type]) -> Ints:
    if kinds == {msgspec.Raw}:
        return np.arange(len(values))
    return np.array([place for place, value in enumerate(values) if type(value) is msgspec.Raw], np.int64)


def _texts(values: list[Any], rows: Ints, account: Account) -> pa.Array:
    """Decoded scalars as texts; rows with anything else are suspect."""
    kinds = list(map(type, values))
    account.saw(rows, 2 * kinds.count(str), lambda: 2 * np.array([kind is str for kind in kinds], np.int64))
    others = set(kinds) - {str, NumberText}
    if others - {int, bool}:
        account.suspect(rows, np.flatnonzero([kind not in _SCALARS for kind in kinds]))
    if others:
        _to_texts(values, kinds, others, rows, account)
    return pa.array(values, pa.string())


def _to_texts(values: list[Any], kinds: list[type], others: set[type], rows: Ints, account: Account) -> None:
    """Replace what is not a text yet by its text, in place; `-0` has become 0, so zeros are told of."""
    places = list(compress(range(len(values)), map(others.__contains__, kinds)))
    zeros = [place for place in places if values[place] == 0 and kinds[place] is int]
    for place in places:
        values[place] = _SCALAR_TEXTS.get(kinds[place], _no_text)(values[place])
    if zeros:
        account.zero(rows, np.array(zeros, np.int64))


def _no_text(_value: Any) -> str:
    """Stands for what is no scalar; its row is suspect already."""
    return ""
