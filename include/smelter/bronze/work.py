"""What a task does: each file is read once, judged, and written as data files of both tables.

Safe to kill and to repeat: what it writes is in no table until the driver commits it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from smelter.bronze.stage import Stage
from smelter.contracts import parse_contract
from smelter.lake.batches import GONE, Receipt, Unit
from smelter.lake.data_files import DataFileWriter, TableShape
from smelter.lake.sources import arrival_of, path_of
from smelter.lake.written import WrittenFile
from smelter.records import DeadLetter, Judge, Limits, Problem, Reason, Source, letters_to_arrow

Positions = npt.NDArray[np.int64]
_NONE_THERE: Positions = np.empty(0, np.int64)
_NOT_TO_THE_END = frozenset({Reason.FILE_UNREADABLE, Reason.FILE_TOO_LARGE})
_ABOUT_THE_FILE = _NOT_TO_THE_END | {Reason.FILE_CHANGED, Reason.TRUNCATED_BATCH}


@dataclass(frozen=True)
class Present:
    """Positions of one source that are in the tables already; they are judged, and not written again."""

    bronze: Positions = field(default_factory=lambda: _NONE_THERE)
    letters: Positions = field(default_factory=lambda: _NONE_THERE)
    about_the_file: tuple[int, str] | None = None  # the letter about the file itself: its position and reason


@dataclass(frozen=True)
class Work:
    """The share of one task; it travels to the task whole."""

    token: str
    ingested_at: datetime
    contract: str
    limits: Limits
    units: tuple[Unit, ...]
    bronze: TableShape
    letters: TableShape
    present: Mapping[str, Present] = field(default_factory=dict)
    reach: Callable[[str], None] | None = None  # told when a point is reached; tests stop the process there
    is_rehearsal: bool = False  # everything is read and judged, and nothing is written


class Trouble(msgspec.Struct, frozen=True):
    """Why a task could not write, such as a full disk."""

    number: int
    message: str
    where: str


class Outcome(msgspec.Struct, frozen=True):
    """What a task brings back: a receipt per unit and the data files; never a row."""

    receipts: list[Receipt] = []
    bronze: list[WrittenFile] = []
    letters: list[WrittenFile] = []
    trouble: Trouble | None = None


def do(work: Work) -> Outcome:
    """Read, judge and write every unit; trouble with writing takes back what was written."""
    desk = _Desk(work)
    try:
        receipts = [desk.take_in(unit) for unit in work.units]
        return Outcome(receipts, desk.bronze.finish(), desk.letters.finish())
    except OSError as problem:
        desk.discard()
        number, where = problem.errno or errno.EIO, str(problem.filename or work.bronze.location)
        return Outcome(trouble=Trouble(number, problem.strerror or str(problem), where))


class _Desk:
    """One task at work."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._judge = judge_of(work.contract, work.limits)
        self._dataset = self._judge.contract.dataset
        self.bronze = DataFileWriter(work.bronze)
        self.letters = DataFileWriter(work.letters)
        self._stamps = {  # what only the batch knows
            "_ingested_at": pa.scalar(work.ingested_at, pa.timestamp("us", "UTC")),
            "_batch": pa.scalar(work.token),
            "_contract": pa.scalar(self._judge.contract.label),
        }

    def discard(self) -> None:
        self.bronze.discard()
        self.letters.discard()

    def take_in(self, unit: Unit) -> Receipt:
        """One file, as it was planned; one that changed since is one letter and none of its rows."""
        try:
            handle = os.open(path_of(unit.source), os.O_RDONLY | os.O_NONBLOCK)
        except OSError as problem:
            return self._unopened(unit, problem)
        try:
            if _has_changed(handle, unit):
                return self._changed(unit, handle)
            return self._judged(unit, handle) or self._changed(unit, handle)
        finally:
            os.close(handle)

    def _unopened(self, unit: Unit, problem: OSError) -> Receipt:
        """A file that is gone or closed to us is one letter, which the judge writes: it has words for this."""

        def refuse() -> BinaryIO:
            raise problem

        if self._is_in_tables(unit):
            return self._left(unit)
        source = Source(unit.source, 0, arrival_of(unit.modified_ns), refuse)
        rows, letters = self._stages()
        self._staged(unit, source, rows, letters)
        letters.release(self.letters)
        return Receipt(Unit(unit.source, GONE, unit.modified_ns), "", 1, 0, 1, is_whole=False)

    def _stages(self) -> tuple[Stage, Stage]:
        work = self._work
        rows, letters = (Stage(shape, is_rehearsal=work.is_rehearsal) for shape in (work.bronze, work.letters))
        return rows, letters

    def _is_in_tables(self, unit: Unit) -> bool:
        present = self._work.present.get(unit.source, Present())
        return bool(len(present.bronze) or len(present.letters))

    def _left(self, unit: Unit) -> Receipt:
        """A source that is in the tables and whose file does not say the same: it is left as the tables have it."""
        present = self._work.present[unit.source]
        accepted, dead = len(present.bronze), len(present.letters)
        left = Unit(unit.source, GONE, unit.modified_ns)
        return Receipt(left, "", accepted + dead, accepted, dead, is_whole=False)

    def _judged(self, unit: Unit, handle: int) -> Receipt | None:
        """Judge the open file; nothing if it turns out to have changed on the way, and then nothing of it is kept."""
        rows, letters = self._stages()
        source = Source(
            unit.source, unit.length, arrival_of(unit.modified_ns), lambda: os.fdopen(os.dup(handle), "rb", buffering=0)
        )
        try:
            receipt, was_read_to_its_end = self._staged(unit, source, rows, letters)
        except OSError:
            rows.discard()
            letters.discard()
            raise
        if _has_changed(handle, unit) or not was_read_to_its_end:
            rows.discard()
            letters.discard()
            return None
        rows.release(self.bronze)
        letters.release(self.letters)
        return receipt

    def _staged(self, unit: Unit, source: Source, rows: Stage, letters: Stage) -> tuple[Receipt, bool]:
        """Judge the file and stage what is not in the tables yet."""
        work, present = self._work, self._work.present.get(unit.source, Present())
        taken = np.concatenate([present.bronze, present.letters])
        accepted, dead, reasons, about = len(present.bronze), len(present.letters), set[Reason](), None
        judgement = self._judge.judge(source)
        for part in judgement:
            fresh, new = _without(part.rows, taken), _letters_without(part.letters, taken)
            rows.add(work.bronze.conform(fresh, self._stamps))
            if new:
                letters.add(self._letter_rows(new, unit))
            accepted, dead = accepted + fresh.num_rows, dead + len(new)
            reasons.update(letter.reason for letter in part.letters)
            about = next(((o.position, o.reason.value) for o in part.letters if o.reason in _ABOUT_THE_FILE), about)
            if work.reach is not None:
                work.reach("task_writing")
        found = judgement.receipt
        is_whole = reasons.isdisjoint(_ABOUT_THE_FILE)
        was_read = found.bytes == unit.length or not reasons.isdisjoint(_NOT_TO_THE_END)
        says_the_same = present.about_the_file in (None, about)
        return Receipt(unit, found.digest, found.records, accepted, dead, is_whole), was_read and says_the_same

    def _changed(self, unit: Unit, handle: int) -> Receipt:
        """The one letter of a file that is not what it was when it was planned."""
        if self._is_in_tables(unit):
            return self._left(unit)
        now = os.fstat(handle)
        found = f"{now.st_size} bytes, modified {arrival_of(now.st_mtime_ns).isoformat()}"
        planned = f"{unit.length} bytes, modified {arrival_of(unit.modified_ns).isoformat()}"
        message = f"the file changed after it was listed: it had {planned}"
        letter = DeadLetter(unit.source, 0, Reason.FILE_CHANGED, (_changed_problem(found, message),), "")
        _, letters = self._stages()
        letters.add(self._letter_rows([letter], unit))
        letters.release(self.letters)
        return Receipt(unit, "", 1, 0, 1, is_whole=False)

    def _letter_rows(self, letters: Sequence[DeadLetter], unit: Unit) -> pa.RecordBatch:
        arrived = pa.scalar(arrival_of(unit.modified_ns), pa.timestamp("us", "UTC"))
        return self._work.letters.conform(
            letters_to_arrow(self._dataset, letters), {**self._stamps, "_arrived_at": arrived}
        )


@lru_cache(maxsize=8)
def judge_of(contract: str, limits: Limits) -> Judge:
    """A worker lives through many batches, and building a judge takes milliseconds."""
    return Judge(parse_contract(contract, "the active contract"), limits)


def _has_changed(handle: int, unit: Unit) -> bool:
    if unit.length == GONE:  # it came back; nobody knows what it was
        return True
    now = os.fstat(handle)
    return (now.st_size, now.st_mtime_ns) != (unit.length, unit.modified_ns)


def _without(rows: pa.RecordBatch, taken: Positions) -> pa.RecordBatch:
    if not len(taken) or not rows.num_rows:
        return rows
    is_new = ~np.isin(rows.column("_position").to_numpy(), taken)
    return rows.filter(pa.array(is_new))


def _letters_without(letters: tuple[DeadLetter, ...], taken: Positions) -> tuple[DeadLetter, ...]:
    if not len(taken) or not letters:
        return letters
    is_new = ~np.isin(np.fromiter((letter.position for letter in letters), np.int64, len(letters)), taken)
    return tuple(letter for letter, new in zip(letters, is_new, strict=True) if new)


def _changed_problem(found: str, message: str) -> Problem:
    return Problem(Reason.FILE_CHANGED, "unchanged", "", found, message)
