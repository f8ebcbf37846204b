"""Is this record good, and if not, why not? A source in; rows, dead letters and one receipt out.

The verdict is a pure function of the bytes, the contract and the moment of arrival. There is no clock here.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from smelter.contracts import Contract
from smelter.records.account import Ints
from smelter.records.cut import Cutter
from smelter.records.letters import DeadLetter, Problem, Reason, letter_of
from smelter.records.pieces import Broken, CutOff, Decoded, TooLarge, Whole
from smelter.records.shape import row_schema
from smelter.records.sorting import Bad, Sorted, Sorter
from smelter.records.source import Limits, Reading, Source
from smelter.records.text import WINDOW_BYTES
from smelter.records.tree import too_large

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LETTER_WEIGHT = 1000  # what a bad record counts in a batch that is measured in bytes
_MOST_AT_ONCE = 2000
_RECORD_WEIGHT = 250  # what any record counts beyond its bytes: tiny ones become letters of many times their size


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


@dataclass(frozen=True)
class Verdicts:
    """Records that were judged one by one, wherever they came from: fields of the good ones, problems of the others."""

    fields: pa.RecordBatch
    good: Ints  # the places of the good ones among those that were given
    bad: dict[int, tuple[Problem, ...]]


class Judge:
    """Judges records under one contract. Make one per contract and keep it: building its decoder takes milliseconds."""

    def __init__(self, contract: Contract, limits: Limits | None = None) -> None:
        self.contract = contract
        self.limits = limits or Limits()
        self.schema = row_schema(contract)
        self._sorter = Sorter(contract, self.limits)

    def judge(self, source: Source) -> Judgement:
        """Judge a source; iterate the result once, then ask it for the receipt."""
        return Judgement(self._sorter, self.schema, source, self.limits)

    def problems_of(self, record: bytes, arrived_at: datetime) -> tuple[Problem, ...]:
        """Everything that is wrong with one record; nothing if it is good."""
        return self._sorter.problems_of(record, _micros(arrived_at))

    def judge_records(self, texts: Sequence[bytes], arrived_at: Ints) -> Verdicts:
        """Judge texts of single records, each with its own arrival, in microseconds."""
        parts, good, bad = [], [], {}
        for first in range(0, max(1, len(texts)), _MOST_AT_ONCE):
            some, arrived = texts[first : first + _MOST_AT_ONCE], arrived_at[first : first + _MOST_AT_ONCE]
            with _collector_paused():
                found = self._sorter.sort_lines(some, arrived)
            parts.append(pa.RecordBatch.from_arrays(found.arrays, names=self.schema.names[: len(found.arrays)]))
            good.append(found.places + first)
            bad.update({first + place: one.problems for place, one in found.bad.items()})
        return Verdicts(pa.concat_batches(parts), np.concatenate(good), bad)


class Judgement:
    """One pass over one source: parts first, then the receipt."""

    def __init__(self, sorter: Sorter, schema: pa.Schema, source: Source, limits: Limits) -> None:
        self._sorter = sorter
        self._schema = schema
        self._limits = limits
        self._source = source
        self._arrived_at = _micros(source.arrived_at)
        self._reading = Reading(source, limits)
        self._position = 0
        self._dead = 0
        self._done = False

    def __iter__(self) -> Iterator[Judged]:
        batches = self._batches()
        while True:
            with _collector_paused():
                batch = next(batches, None)
                if batch is None:
                    break
                if isinstance(batch, Decoded):
                    part = self._part(self._sorter.sort_decoded(batch, self._arrived_at))
                else:
                    part = self._part(self._sorter.sort_texts(batch, self._arrived_at))
            yield part
        self._done = True

    def _batches(self) -> Iterator[Decoded | list[bytes | Bad]]:
        """Windows, and between them single records, up to a window's worth of bytes at a time."""
        waiting: list[bytes | Bad] = []
        size = 0
        for piece in self._pieces():
            if waiting and (isinstance(piece, Decoded) or size > WINDOW_BYTES):
                yield waiting
                waiting, size = [], 0
            if isinstance(piece, Decoded):
                yield piece
            elif isinstance(piece, Bad):
                waiting.append(piece)
                size += _LETTER_WEIGHT
            else:
                for at in range(0, len(piece.texts), _MOST_AT_ONCE):
                    if size > WINDOW_BYTES:
                        yield waiting
                        waiting, size = [], 0
                    texts = piece.texts[at : at + _MOST_AT_ONCE]
                    waiting += texts
                    size += sum(map(len, texts)) + _RECORD_WEIGHT * len(texts)
        if waiting:
            yield waiting

    def _pieces(self) -> Iterator[Decoded | Whole | Bad]:
        """What the text was cut into, in order; the last may be a letter about the file itself."""
        limits, tail = self._limits, None
        chunks, decode = iter(self._reading), self._sorter.decode_window
        for piece in Cutter(chunks, decode, limits.max_record_bytes, limits.max_depth):
            if isinstance(piece, Decoded | Whole):
                yield piece
            elif isinstance(piece, CutOff):
                tail = piece.tail
            elif piece.at_end and self._reading.problem is not None:
                tail = piece.text  # who knows how it would have gone on
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
            return Bad(piece.text, (too_large(self._limits),))
        return self._sorter.broken(piece.text)

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
        positions = pa.array(found.places + first)
        arrived = pa.repeat(pa.scalar(self._arrived_at, pa.timestamp("us", "UTC")), accepted)
        columns = [*found.arrays, pa.repeat(name, accepted), positions, arrived]
        letters = tuple(
            letter_of(name, first + place, bad.problems, bad.text) for place, bad in sorted(found.bad.items())
        )
        self._position += accepted + len(letters)
        self._dead += len(letters)
        return Judged(pa.RecordBatch.from_arrays(columns, schema=self._schema), letters)


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
