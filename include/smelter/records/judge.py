"""Is this record good, and if not, why not? A source in; rows, dead letters and one receipt out.

The verdict is a pure function of the bytes, the contract and the moment of arrival. There is no clock here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from smelter.contracts import Contract
from smelter.records.columns import Account, build_fields, fields_of
from smelter.records.cut import Cutter
from smelter.records.letters import DeadLetter, Problem, Reason, letter_of
from smelter.records.pieces import Broken, CutOff, Decoded, Piece, TooLarge, Whole, whole_records
from smelter.records.problems import Inspector, not_json, too_large
from smelter.records.revive import has_text_map, revive
from smelter.records.shape import decoder_of, row_schema
from smelter.records.source import Limits, Reading, Source

_NEGATIVE_ZERO = re.compile(rb"-0(?![.0-9eE])")
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
        if not window.isascii():
            try:
                window.decode("utf-8")
            except UnicodeDecodeError:
                return None
        try:
            values: list[Any] = (
                self._decode_array(b"[" + window + b"]") if is_array else self._decode_lines(window)
            )
        except _NOT_TAKEN:
            return None
        return values

    def judge_window(self, piece: Decoded, arrived_at: int) -> tuple[list[pa.Array], list[int], dict[int, Bad]]:
        """The columns of a window's good records, their places in it, and the bad ones by place."""
        records = _Lazy(piece)
        events = self._exact(piece.values, piece.window, records, arrived_at)
        account = Account(len(events), arrived_at)
        arrays = build_fields(self._columns, events, None, account)
        suspects = self._suspects(account, piece.window, records)
        if not suspects:
            return arrays, list(range(len(events))), {}
        return self._without_bad(arrays, events, suspects, records, arrived_at)

    def judge_records(self, texts: Sequence[bytes], arrived_at: int) -> tuple[list[pa.Array], list[int], dict[int, Bad]]:
        """The same for records that are well-formed but that the decoder did not take all at once."""
        events: list[Any] = []
        places: list[int] = []
        bad: dict[int, Bad] = {}
        for place, text in enumerate(texts):
            event = self._event(text, arrived_at, place, bad)
            if event is not None:
                events.append(event)
                places.append(place)
        good_texts = [texts[place] for place in places]
        joined = b"\n".join(good_texts)
        arrays, kept, worse = self.judge_window_of(events, joined, good_texts, arrived_at)
        bad.update({places[index]: found for index, found in worse.items()})
        return arrays, [places[index] for index in kept], bad

    def judge_window_of(
        self, events: list[Any], window: bytes, texts: list[bytes], arrived_at: int
    ) -> tuple[list[pa.Array], list[int], dict[int, Bad]]:
        """Columns of decoded records whose texts are at hand."""
        records = _Lazy(None, texts)
        events = self._exact(events, window, records, arrived_at)
        account = Account(len(events), arrived_at)
        arrays = build_fields(self._columns, events, None, account)
        suspects = self._suspects(account, window, records)
        if not suspects:
            return arrays, list(range(len(events))), {}
        return self._without_bad(arrays, events, suspects, records, arrived_at)

    def _event(self, text: bytes, arrived_at: int, place: int, bad: dict[int, Bad]) -> Any:
        try:
            if text.isascii() or text.decode("utf-8"):
                return self._decode_one(text)
        except _NOT_TAKEN:
            pass
        tree, problems = self._inspector.problems_of(text, arrived_at)
        if problems:
            bad[place] = Bad(text, tuple(problems))
            return None
        return revive(tree, self.contract)

    def _exact(self, events: list[Any], window: bytes, records: _Lazy, arrived_at: int) -> list[Any]:
        """The events, with those read anew whose text the decoder does not keep exactly."""
        if not self._keeps_text or b"-0" not in window or _NEGATIVE_ZERO.search(window) is None:
            return events
        events = list(events)
        for index, text in enumerate(records.texts):
            if _NEGATIVE_ZERO.search(text):
                tree, problems = self._inspector.problems_of(text, arrived_at)
                if not problems:
                    events[index] = revive(tree, self.contract)
        return events

    def _suspects(self, account: Account, window: bytes, records: _Lazy) -> list[int]:
        """Rows that a column did not pass, and rows whose text has more quotes than their values explain."""
        suspects = set(np.concatenate(account.suspects).tolist()) if account.suspects else set()
        plain = b"\\" not in window
        quotes = window.count(b'"') if plain else None
        if quotes is None and b"\\\\" not in window:
            quotes = window.count(b'"') - window.count(b'\\"')
        if quotes != account.quotes:
            suspects.update(_rows_with_more_quotes(account.quotes_per_row(), records.texts))
        return sorted(suspects)

    def _without_bad(
        self, arrays: list[pa.Array], events: list[Any], suspects: list[int], records: _Lazy, arrived_at: int
    ) -> tuple[list[pa.Array], list[int], dict[int, Bad]]:
        texts = records.texts
        bad: dict[int, Bad] = {}
        for index in suspects:
            problems = self._inspector.problems_of(texts[index], arrived_at)[1]
            if problems:
                bad[index] = Bad(texts[index], tuple(problems))
        if not bad:
            return arrays, list(range(len(events))), bad
        kept = [index for index in range(len(events)) if index not in bad]
        take = pa.array(kept, pa.int64())
        return [array.take(take) for array in arrays], kept, bad


@dataclass(frozen=True)
class Bad:
    """A record that is not good, before it has a position."""

    text: bytes
    problems: tuple[Problem, ...]


class _Lazy:
    """The texts of a window's records, cut only if somebody asks."""

    def __init__(self, piece: Decoded | None, texts: list[bytes] | None = None) -> None:
        self._piece = piece
        self._texts = texts

    @property
    def texts(self) -> list[bytes]:
        if self._texts is None:
            assert self._piece is not None
            self._texts = whole_records(self._piece.window, self._piece.is_array)
            assert self._texts is not None
        return self._texts


def _rows_with_more_quotes(explained: npt.NDArray[np.int64], texts: Sequence[bytes]) -> list[int]:
    suspects = []
    for index, (count, text) in enumerate(zip(explained.tolist(), texts, strict=True)):
        quotes = text.count(b'"')
        if quotes != count and (b"\\\\" in text or quotes - text.count(b'\\"') != count):
            suspects.append(index)
    return suspects


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
        self._dead = 0
        self._done = False

    def __iter__(self) -> Iterator[Judged]:
        limits = self._judge.limits
        cutter = Cutter(iter(self._reading), self._judge.decode_window, limits.max_record_bytes, limits.max_depth)
        tail = None
        for piece in cutter:
            if isinstance(piece, CutOff):
                tail = piece.tail
            else:
                yield self._judged(piece)
        problem = self._reading.problem
        if problem is None and tail is not None:
            message = "the text ends inside a record or a batch; this is what was left"
            problem = Problem(Reason.TRUNCATED_BATCH, "complete", "", f"{len(tail)} bytes left", message)
        if problem is not None:
            yield self._letters([Bad(tail or b"", (problem,))])
        self._done = True

    @property
    def receipt(self) -> Receipt:
        """What the source held; there is one only after the last part."""
        if not self._done:
            raise RuntimeError("the receipt of a source exists after its last part")
        accepted = self._position - self._dead
        return Receipt(
            self._source.name, self._reading.bytes_read, self._reading.digest, self._position, accepted, self._dead
        )

    def _judged(self, piece: Piece) -> Judged:
        judge = self._judge
        if isinstance(piece, Decoded):
            return self._part(*judge.judge_window(piece, self._arrived_at), len(piece.values))
        if isinstance(piece, Whole):
            return self._part(*judge.judge_records(piece.texts, self._arrived_at), len(piece.texts))
        if isinstance(piece, TooLarge):
            return self._letters([Bad(piece.beginning, (too_large(judge.limits),))])
        assert isinstance(piece, Broken)
        problems = judge._inspector.problems_of(piece.text, self._arrived_at)[1]
        return self._letters([Bad(piece.text, tuple(problems) or (not_json(piece.text, judge.limits),))])

    def _part(self, arrays: list[pa.Array], places: list[int], bad: dict[int, Bad], count: int) -> Judged:
        first = self._position
        positions = pa.array(np.array(places, np.int64) + first)
        constant = [pa.repeat(self._source.name, len(places)), positions]
        arrived = pa.repeat(pa.scalar(self._arrived_at, pa.timestamp("us", "UTC")), len(places))
        rows = pa.RecordBatch.from_arrays([*arrays, *constant, arrived], schema=self._judge.schema)
        letters = tuple(
            letter_of(self._source.name, first + place, found.problems, found.text)
            for place, found in sorted(bad.items())
        )
        self._position += count
        self._dead += len(letters)
        return Judged(rows, letters)

    def _letters(self, bad: Sequence[Bad]) -> Judged:
        letters = tuple(
            letter_of(self._source.name, self._position + place, found.problems, found.text)
            for place, found in enumerate(bad)
        )
        self._position += len(letters)
        self._dead += len(letters)
        return Judged(self._judge.schema.empty_table().to_batches()[0] if False else _no_rows(self._judge), letters)


def _no_rows(judge: Judge) -> pa.RecordBatch:
    arrays = [pa.array([], field.type) for field in judge.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=judge.schema)
