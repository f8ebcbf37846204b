"""Is this record good, and if not, why not? A source in; rows, dead letters and one receipt out.

The verdict is a pure function of the bytes, the contract and the moment of arrival. There is no clock here.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from smelter.contracts import Contract
from smelter.records.account import Account
from smelter.records.columns import build_fields, fields_of
from smelter.records.cut import Cutter
from smelter.records.letters import DeadLetter, Problem, Reason, letter_of
from smelter.records.pieces import Broken, CutOff, Decoded, TooLarge, Whole, whole_records
from smelter.records.problems import Inspector
from smelter.records.revive import has_text_map, revive
from smelter.records.shape import decoder_of, row_schema
from smelter.records.source import Limits, Reading, Source
from smelter.records.text import WINDOW_BYTES
from smelter.records.tree import not_json, too_large

_AFTER_NUMBER = np.frombuffer(b" \t\r\n,}", np.uint8)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_TAKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class Judged:
    """A part of a source: its good records as rows, its bad ones as letters."""

    rows: pa.RecordBatch
    letters: tuple[DeadLetter, ...]


@dataclass(frozen=True)
class Receipt:
    """What a source held. `records = accepted + dead` always holds."""

    source: str
    bytes: int
    digest: str
    records: int
    accepted: int
    dead: int


class Judge:
    """Judges records under one contract. Make one per contract and keep it: building its decoder takes milliseconds."""

    def __init__(self, contract: Contract, limits: Limits | None = None) -> None:
        self.contract = contract
        self.limits = limits or Limits()
        self.schema = row_schema(contract)
        _, one, many = decoder_of(contract)
        self._decode_one, self._decode_lines, self._decode_array = one.decode, one.decode_lines, many.decode
        self._columns = fields_of(contract)
        self._inspector = Inspector(contract, self.limits)
        self._keeps_text = any(has_text_map(rules.kind) for rules in contract.fields.values())

    def judge(self, source: Source) -> Judgement:
        """Judge a source; iterate the result once, then ask it for the receipt."""
        return Judgement(self, source)

    def problems_of(self, record: bytes, arrived_at: datetime) -> tuple[Problem, ...]:
        """Everything that is wrong with one record; nothing if it is good."""
        return tuple(self._inspector.problems_of(record, _micros(arrived_at))[1])

    def decode_window(self, window: bytes, is_array: bool) -> list[Any] | None:
        """All records of a window at once, or None if the decoder refuses one of them."""
        try:
            if not window.isascii():
                window.decode("utf-8")
            return self._decode_array(b"[" + window + b"]") if is_array else self._decode_lines(window)
        except _NOT_TAKEN:
            return None

    def judge_decoded(self, piece: Decoded, arrived_at: int) -> Sorted:
        """Sort the records of a window that the decoder took whole. The decoded values are let go."""
        found = self._sort(piece.values, _Texts(piece), piece.window, arrived_at)
        piece.values.clear()
        return found

    def judge_texts(self, texts: Sequence[bytes | Bad], arrived_at: int) -> Sorted:
        """Sort records that are well-formed, some of which the decoder refuses, among others that are known as bad."""
        events: list[Any] = []
        places: list[int] = []
        bad: dict[int, Bad] = {}
        for place, text in enumerate(texts):
            event = text if isinstance(text, Bad) else self._decoded(text, arrived_at)
            if isinstance(event, Bad):
                bad[place] = event
            else:
                events.append(event)
                places.append(place)
        taken = [text for place in places if isinstance(text := texts[place], bytes)]
        found = self._sort(events, _Texts(taken), b"\n".join(taken), arrived_at)
        bad.update({places[place]: record for place, record in found.bad.items()})
        return Sorted(found.arrays, [places[place] for place in found.places], bad)

    def _decoded(self, text: bytes, arrived_at: int) -> Any:
        """The decoded record, or why it is bad."""
        try:
            if not text.isascii():
                text.decode("utf-8")
            return self._decode_one(text)
        except _NOT_TAKEN:
            tree, problems = self._inspector.problems_of(text, arrived_at)
            return Bad(text, tuple(problems)) if problems else revive(tree, self.contract)

    def _sort(self, events: list[Any], texts: _Texts, joined: bytes, arrived_at: int) -> Sorted:
        """Columns of all records first; then those that raised suspicion are looked at one by one."""
        if self._keeps_text and _has_negative_zero(joined):
            events = self._with_exact_zeros(events, texts.all, arrived_at)
        account = Account(len(events), arrived_at)
        arrays = build_fields(self._columns, events, None, account)
        bad: dict[int, Bad] = {}
        for place in _suspects(account, joined, texts):
            problems = self._inspector.problems_of(texts.all[place], arrived_at)[1]
            if problems:
                bad[place] = Bad(texts.all[place], tuple(problems))
        places = range(len(events))
        if bad:
            places = [place for place in places if place not in bad]
            take = pa.array(places, pa.int64())
            arrays = [array.take(take) for array in arrays]
        return Sorted(arrays, places, bad)

    def _with_exact_zeros(self, events: list[Any], texts: Sequence[bytes], arrived_at: int) -> list[Any]:
        events = list(events)
        for place, text in enumerate(texts):
            if _has_negative_zero(text):
                tree, problems = self._inspector.problems_of(text, arrived_at)
                events[place] = events[place] if problems else revive(tree, self.contract)
        return events

    def judge_broken(self, text: bytes, arrived_at: int) -> Bad:
        """What is wrong with a record that is not JSON."""
        problems = self._inspector.problems_of(text, arrived_at)[1]
        return Bad(text, tuple(problems) or (not_json(text, self.limits),))


class Bad(msgspec.Struct, frozen=True, gc=False):
    """A record that is not good, before it has a position."""

    text: bytes
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Sorted:
    """Records in two heaps: columns and places of the good ones, the bad ones by place."""

    arrays: list[pa.Array]
    places: Sequence[int]
    bad: dict[int, Bad]


class _Texts:
    """The texts of records, cut out of their window only if somebody asks."""

    def __init__(self, origin: Decoded | list[bytes]) -> None:
        self._origin = origin

    @cached_property
    def all(self) -> list[bytes]:
        if isinstance(self._origin, list):
            return self._origin
        texts = whole_records(self._origin.window, self._origin.is_array)
        assert texts is not None
        return texts


def _suspects(account: Account, joined: bytes, texts: _Texts) -> list[int]:
    """Rows that a column did not pass, and rows whose text has more quotes than their values explain."""
    suspects = set(np.concatenate(account.suspects).tolist()) if account.suspects else set()
    if _quotes(joined) != account.quotes:
        counts = account.quotes_per_row().tolist()
        suspects.update(place for place, text in enumerate(texts.all) if _quotes(text) != counts[place])
    return sorted(suspects)


def _has_negative_zero(text: bytes) -> bool:
    """Might a member's value be `-0`?"""
    if b"-0" not in text:
        return False
    data = np.frombuffer(text, np.uint8)
    places = np.flatnonzero((data[:-2] == 0x2D) & (data[1:-1] == 0x30))
    return bool(np.isin(data[places + 2], _AFTER_NUMBER).any())


def _quotes(text: bytes) -> int:
    """How many quotes open or close a string; -1 if that cannot be counted cheaply."""
    if b"\\" not in text:
        return int(np.count_nonzero(np.frombuffer(text, np.uint8) == 0x22)) if len(text) > 10_000 else text.count(b'"')
    return -1 if b"\\\\" in text else text.count(b'"') - text.count(b'\\"')


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Decoding makes thousands of objects and no cycle; pausing the garbage collector takes a third off its cost."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


class Judgement:
    """One pass over one source: parts first, then the receipt."""

    def __init__(self, judge: Judge, source: Source) -> None:
        self._judge = judge
        self._source = source
        self._arrived_at = _micros(source.arrived_at)
        self._reading = Reading(source, judge.limits)
        self._position = 0
        self._held: Decoded | bytes | Bad | None = None
        self._dead = 0
        self._done = False

    def __iter__(self) -> Iterator[Judged]:
        pieces = self._pieces()
        while True:
            with _collector_paused():
                batch = self._next_batch(pieces)
                if not batch:
                    break
                part = self._part(self._sorted(batch))
            yield part
        self._done = True

    def _pieces(self) -> Iterator[Decoded | bytes | Bad]:
        """Windows, single records and bad ones, in order; the last may be a letter about the file itself."""
        limits, tail = self._judge.limits, None
        chunks, decode = iter(self._reading), self._judge.decode_window
        for piece in Cutter(chunks, decode, limits.max_record_bytes, limits.max_depth):
            if isinstance(piece, Decoded):
                yield piece
            elif isinstance(piece, Whole):
                yield from piece.texts
            elif isinstance(piece, CutOff):
                tail = piece.tail
            else:
                yield self._bad(piece)
        problem = self._reading.problem
        if problem is None and tail is not None:
            message = "the text ends inside a record or a batch; this is what was left"
            problem = Problem(Reason.TRUNCATED_BATCH, "complete", "", f"{len(tail)} bytes left", message)
        if problem is not None:
            yield Bad(tail or b"", (problem,))

    def _bad(self, piece: Broken | TooLarge) -> Bad:
        if isinstance(piece, TooLarge):
            return Bad(piece.beginning, (too_large(self._judge.limits),))
        return self._judge.judge_broken(piece.text, self._arrived_at)

    def _next_batch(self, pieces: Iterator[Decoded | bytes | Bad]) -> list[Decoded | bytes | Bad]:
        """One window, or single records up to a window's worth of bytes; nothing at the end."""
        batch: list[Decoded | bytes | Bad] = [self._held] if self._held is not None else []
        self._held, size = None, 0
        if batch and isinstance(batch[0], Decoded):
            return batch
        for piece in pieces:
            if isinstance(piece, Decoded) and batch:
                self._held = piece
                break
            batch.append(piece)
            size += len(piece) if isinstance(piece, bytes) else 1000
            if isinstance(piece, Decoded) or size > WINDOW_BYTES:
                break
        return batch

    def _sorted(self, batch: list[Decoded | bytes | Bad]) -> Sorted:
        if isinstance(batch[0], Decoded):
            return self._judge.judge_decoded(batch[0], self._arrived_at)
        return self._judge.judge_texts([piece for piece in batch if not isinstance(piece, Decoded)], self._arrived_at)

    @property
    def receipt(self) -> Receipt:
        """What the source held; there is one only after the last part."""
        if not self._done:
            raise RuntimeError("the receipt of a source exists after its last part")
        accepted = self._position - self._dead
        return Receipt(
            self._source.name, self._reading.bytes_read, self._reading.digest, self._position, accepted, self._dead
        )

    def _part(self, found: Sorted) -> Judged:
        name, first, accepted = self._source.name, self._position, len(found.places)
        positions = pa.array(np.fromiter(found.places, np.int64, accepted) + first)
        arrived = pa.repeat(pa.scalar(self._arrived_at, pa.timestamp("us", "UTC")), accepted)
        columns = [*found.arrays, pa.repeat(name, accepted), positions, arrived]
        letters = tuple(
            letter_of(name, first + place, bad.problems, bad.text) for place, bad in sorted(found.bad.items())
        )
        self._position += accepted + len(letters)
        self._dead += len(letters)
        return Judged(pa.RecordBatch.from_arrays(columns, schema=self._judge.schema), letters)
