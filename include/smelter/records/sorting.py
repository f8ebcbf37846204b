"""Records in two heaps: the good ones as columns, thousands at a time; the bad ones with all of their problems.

The fast way decides for nearly all; whatever it does not take is looked at one by one, and that look decides.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from smelter.contracts import Contract
from smelter.contracts.types import MAX_NESTING
from smelter.records.account import Account, Arrival, Ints, arrival_at
from smelter.records.columns import build_fields, fields_of
from smelter.records.letters import Problem
from smelter.records.pieces import Decoded, is_too_deep_somewhere, whole_records
from smelter.records.problems import Inspector
from smelter.records.quotes import quotes_in, quotes_of
from smelter.records.revive import revive
from smelter.records.shape import decoder_of
from smelter.records.source import Limits
from smelter.records.tree import decode_anything, exact_tree_of, not_json, too_large, tree_of

_NEGATIVE_ZERO = re.compile(rb"-0[ \t\r\n,}]")
_TRIES = 64  # after so many refusals in a row the decoder is not asked first
_Decoders = tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[list[Any]]]  # of records, and of arrays
_NOT_TAKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Bad(msgspec.Struct, frozen=True, gc=False):
    """A record that is not good, before it has a position."""

    text: bytes
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Sorted:
    """Records in two heaps: columns and places of the good ones, the bad ones by place."""

    arrays: list[pa.Array]
    places: Ints
    bad: dict[int, Bad]


class Sorter:
    """Sorts records under one contract."""

    def __init__(self, contract: Contract, limits: Limits) -> None:
        self._contract = contract
        self._limits = limits
        self._decoders = decoder_of(contract)
        self._decode_one = self._decoders[0].decode
        self._decoders_of_known = self._decoders
        if contract.unknown_fields == "ignore":
            self._decoders_of_known = decoder_of(contract.model_copy(update={"unknown_fields": "dead_letter"}))
        self._columns = fields_of(contract)
        self._inspector = Inspector(contract, limits)
        self._refused_in_a_row = 0

    def problems_of(self, record: bytes, arrived_at: int) -> tuple[Problem, ...]:
        """Everything that is wrong with one record; nothing if it is good."""
        return tuple(self._inspector.problems_of(record, arrived_at))

    def decode_window(self, window: bytes, is_array: bool) -> list[Any] | None:
        """All records of a window at once, or None if the decoder refuses one of them, or one is nested too deep."""
        if self._limits.max_depth > MAX_NESTING:  # only what the contract does not know can be nested deeper
            values = _decoded_window(self._decoders_of_known, window, is_array)
            if values is not None or self._decoders_of_known is self._decoders:
                return values
        values = _decoded_window(self._decoders, window, is_array)
        if values is None or is_too_deep_somewhere(window, is_array, self._limits.max_depth):
            return None
        return values

    def sort_decoded(self, piece: Decoded, arrived_at: int) -> Sorted:
        """Sort the records of a window that the decoder took whole. The decoded values are let go."""
        found = self._sort(piece.values, _Texts(piece), piece.window, arrived_at)
        piece.values.clear()
        return found

    def sort_texts(self, texts: Sequence[bytes | Bad], arrived_at: Arrival) -> Sorted:
        """Sort records that are well-formed, some of which the decoder refuses, among others that are known as bad."""
        events: list[Any] = []
        places: list[int] = []
        taken: list[bytes] = []
        bad: dict[int, Bad] = {}
        for place, text in enumerate(texts):
            event = text if type(text) is Bad else self._decoded(text, arrival_at(arrived_at, place))  # type: ignore[arg-type]
            if type(event) is Bad:
                bad[place] = event
            else:
                events.append(event)
                places.append(place)
                taken.append(text)  # type: ignore[arg-type]
        arrived = arrived_at if isinstance(arrived_at, int) else arrived_at[np.array(places, np.int64)]
        found = self._sort(events, _Texts(taken), b"\n".join(taken), arrived)
        bad.update({places[place]: record for place, record in found.bad.items()})
        return Sorted(found.arrays, np.array(places, np.int64)[found.places], bad)

    def sort_lines(self, texts: Sequence[bytes], arrived_at: Arrival) -> Sorted:
        """The same for texts that may be anything; those that are one line each are first offered all together."""
        most = self._limits.max_record_bytes
        if any(len(text) > most for text in texts):  # a file's pieces are cut before they come here
            return self.sort_texts([self._bounded(text) for text in texts], arrived_at)
        joined = b"\n".join(texts)
        if joined.count(b"\n") == len(texts) - 1:
            events = self.decode_window(joined, is_array=False)
            if events is not None and len(events) == len(texts):
                return self._sort(events, _Texts(list(texts)), joined, arrived_at)
        return self.sort_texts(texts, arrived_at)

    def _bounded(self, text: bytes) -> bytes | Bad:
        return text if len(text) <= self._limits.max_record_bytes else Bad(text, (too_large(self._limits),))

    def _decoded(self, text: bytes, arrived_at: int) -> Any:
        """The decoded record, or why it is bad. Among nothing but bad ones, trying the decoder first is a waste."""
        if self._refused_in_a_row < _TRIES and not self._may_be_too_deep(text):
            try:
                if not text.isascii():
                    text.decode()
                event = self._decode_one(text)
            except _NOT_TAKEN:
                pass
            else:
                self._refused_in_a_row = 0
                return event
        problems = self._inspector.problems_of(text, arrived_at)
        if problems:
            self._refused_in_a_row += 1
            return Bad(text, tuple(problems))
        self._refused_in_a_row = 0
        event = self._tried(text)
        return revive(exact_tree_of(text), self._contract) if event is None else event

    def _may_be_too_deep(self, text: bytes) -> bool:
        """Has it brackets enough? What the contract knows is never that deep, unless the limit is very low."""
        has_more = self._contract.unknown_fields == "ignore" or self._limits.max_depth <= MAX_NESTING
        return has_more and text.count(b"{") + text.count(b"[") > self._limits.max_depth

    def _tried(self, text: bytes) -> Any:
        try:
            return self._decode_one(text)
        except _NOT_TAKEN:
            return None

    def _sort(self, events: list[Any], texts: _Texts, joined: bytes, arrived_at: Arrival) -> Sorted:
        """Columns of all records first; then those that raised suspicion are looked at one by one."""
        account = Account(len(events), arrived_at)
        arrays = build_fields(self._columns, events, None, account)
        bad: dict[int, Bad] = {}
        revived = False
        for place in _suspects(account, joined, texts, self._limits.max_depth):
            problems = self._inspector.problems_of(texts.all[place], arrival_at(arrived_at, place))
            if problems:
                bad[place] = Bad(texts.all[place], tuple(problems))
            elif not isinstance(events[place], SimpleNamespace):
                # Good after all: what a column put in its place must not stand for it.
                events[place] = revive(exact_tree_of(texts.all[place]), self._contract)
                revived = True
        if revived:
            return self._sort(events, texts, joined, arrived_at)
        places = np.arange(len(events))
        if bad:
            places = np.delete(places, list(bad))
            arrays = [array.take(pa.array(places)) for array in arrays]
        return Sorted(arrays, places, bad)

    def broken(self, text: bytes) -> Bad:
        """What is wrong with a record that is not JSON."""
        tree = tree_of(text, self._limits)
        return Bad(text, (tree if isinstance(tree, Problem) else not_json(text, self._limits),))


def _decoded_window(decoders: _Decoders, window: bytes, is_array: bool) -> list[Any] | None:
    one, many = decoders
    try:
        if not window.isascii():
            window.decode("utf-8")
        return many.decode(b"[" + window + b"]") if is_array else one.decode_lines(window)
    except _NOT_TAKEN:
        return None


class _Texts:
    """The texts of records, cut out of their window only if somebody asks."""

    def __init__(self, origin: Decoded | list[bytes]) -> None:
        self._origin = origin

    @cached_property
    def all(self) -> list[bytes]:
        if isinstance(self._origin, list):
            return self._origin
        texts = whole_records(self._origin.window, self._origin.is_array, sys.maxsize)
        assert texts is not None
        return texts


def _suspects(account: Account, joined: bytes, texts: _Texts, max_depth: int) -> list[int]:
    """Rows that a column did not pass, and rows whose text has more quotes than their values explain."""
    suspects = set(np.concatenate(account.suspects).tolist()) if account.suspects else set()
    if account.zeros:  # -0 is decoded as 0, and its text is lost
        zeros = set(np.concatenate(account.zeros).tolist())
        suspects.update(place for place in zeros if _NEGATIVE_ZERO.search(texts.all[place]))
    if quotes_in(joined) != account.quotes:
        counts = account.quotes_per_row().tolist()
        for place, text in enumerate(texts.all):
            quotes = quotes_in(text)
            if quotes != counts[place] and quotes != _explained_quotes(text, max_depth):
                suspects.add(place)
    return sorted(suspects)


def _explained_quotes(text: bytes, max_depth: int) -> int:
    """The quotes that all values of a record stand for, ignored fields included; -1 if that cannot be told."""
    try:
        return quotes_of(decode_anything(text), max_depth)
    except (ValueError, RecursionError):
        return -1
