"""Letters that do not hold their record: their file is read again, and only what is in no table yet is written.

A file is read again only if it is the one that was read, perhaps longer now, or if nothing of it is in the tables but
such letters: else its records could not be told from others by their numbers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from smelter.bronze.stage import Stage
from smelter.dead_letters.receipts import last_receipts
from smelter.dead_letters.run import Runs, raise_trouble
from smelter.dead_letters.work import Desk, Replayed, Work, trouble_of
from smelter.lake.batches import Receipt, Unit
from smelter.lake.data_files import DataFileWriter, TableShape
from smelter.lake.identities import Positions, positions_of
from smelter.lake.letter_status import Outcome
from smelter.lake.resolutions import resolved
from smelter.lake.sources import arrival_of, later_reading_of, path_of
from smelter.lake.written import WrittenFile
from smelter.records import DeadLetter, Judged, Problem, Reason, Source, letters_to_arrow

_NOTHING: Positions = np.empty(0, np.int64)
_ABOUT_THE_FILE = frozenset(
    {Reason.FILE_UNREADABLE, Reason.FILE_TOO_LARGE, Reason.FILE_CHANGED, Reason.TRUNCATED_BATCH}
)


_OTHER_RECORDS = (
    "the file holds other records than those of it that are in the tables; "
    "smelt ingest --reread FILE takes it as a new source"
)
_READ_SINCE = "the file was taken in again since, as a new source; smelt dlq discard closes this letter"


class _Not(Exception):
    """Why a file cannot be read again."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class FileAgain:
    """What became of one file that was read again."""

    source: str
    reason: str  # of the letters that were about it
    letters: int
    rows: int = 0  # records that are in bronze now and were nowhere
    new_letters: int = 0  # records that are dead letters now and were nowhere
    problem: str = ""  # why it could not be read again, or what is still wrong with it


@dataclass(frozen=True)
class FilesAgain:
    """What became of all of them, and what is to be committed."""

    replayed: Replayed
    letters: list[WrittenFile]
    receipts: list[Receipt]
    files: tuple[FileAgain, ...]


NO_FILES = FilesAgain(Replayed(), [], [], ())


@dataclass
class _File:
    """One file while it is read: what is known of it, and what it turns out to hold."""

    source: str
    letters: dict[int, dict[str, Any]]  # those about it, by position
    bronze: Positions = field(default_factory=lambda: _NOTHING)
    standing: Positions = field(default_factory=lambda: _NOTHING)  # letters about single records of it
    receipt: Receipt | None = None  # of its last reading
    is_read_since: bool = False  # under a new name, with `--reread`
    rows: int = 0
    new_letters: int = 0
    went_home: list[int] = field(default_factory=list)
    failed: dict[int, DeadLetter] = field(default_factory=dict)


def read_files_again(runs: Runs, work: Work, letters: Sequence[dict[str, Any]]) -> FilesAgain:
    """Read the file of each letter once; nothing of one that changes meanwhile, or is another one, is kept."""
    desk, shape = Desk(work), TableShape.of(runs.letters)
    new = DataFileWriter(shape)
    receipts: list[Receipt] = []
    try:
        found = [_read(desk, file, work, shape, new, receipts) for file in _files(runs, letters)]
        replayed = Replayed(dict(desk.passed), dict(desk.failed), desk.bronze.finish(), desk.resolutions.finish())
        return FilesAgain(replayed, new.finish(), receipts, tuple(found))
    except OSError as problem:
        desk.discard()
        new.discard()
        raise_trouble(trouble_of(problem, work))
        raise


def rehearse_files(runs: Runs, work: Work, letters: Sequence[dict[str, Any]]) -> FilesAgain:
    """What reading them again would do; nothing is written."""
    desk, shape = Desk(work), TableShape.of(runs.letters)
    new = DataFileWriter(shape)
    found = [_read(desk, file, work, shape, new, [], is_rehearsal=True) for file in _files(runs, letters)]
    desk.discard()
    return FilesAgain(Replayed(dict(desk.passed), dict(desk.failed)), [], [], tuple(found))


def _read(
    desk: Desk,
    file: _File,
    work: Work,
    shape: TableShape,
    new: DataFileWriter,
    receipts: list[Receipt],
    *,
    is_rehearsal: bool = False,
) -> FileAgain:
    reader = _Reader(desk, file, work, shape, new, is_rehearsal=is_rehearsal)
    receipt = reader.read()
    receipts += [receipt] if receipt is not None else []
    reason = str(next(iter(file.letters.values()))["reason"])
    return FileAgain(file.source, reason, len(file.letters), file.rows, file.new_letters, reader.problem)


def _files(runs: Runs, letters: Sequence[dict[str, Any]]) -> Iterable[_File]:
    known = last_receipts(runs)
    sources = sorted({letter["_source"] for letter in letters})
    rows, held = (positions_of(table, sources) for table in (runs.bronze, runs.letters))
    closed = resolved(runs.lake, runs.dataset, sources)
    for source, group in groupby(letters, key=lambda one: str(one["_source"])):
        ours = {int(letter["_position"]): letter for letter in group}
        standing = closed.standing(source, held.get(source, _NOTHING))
        others = np.setdiff1d(standing, np.fromiter(ours, np.int64, len(ours)))
        is_read_since = later_reading_of(source) in known
        yield _File(source, ours, rows.get(source, _NOTHING), others, known.get(source), is_read_since)


class _Reader:
    """Reads one file again."""

    def __init__(
        self, desk: Desk, file: _File, work: Work, letters: TableShape, new: DataFileWriter, *, is_rehearsal: bool
    ) -> None:
        self._desk, self._file, self._work, self._shape, self._new = desk, file, work, letters, new
        self._rows, self._letters = Stage(work.bronze), Stage(letters)
        self._is_rehearsal = is_rehearsal
        self.problem = ""

    def read(self) -> Receipt | None:
        """Judge all of it, and let what is new through if the file is what it should be to the end."""
        try:
            handle = os.open(path_of(self._file.source), os.O_RDONLY | os.O_NONBLOCK)
        except OSError as problem:
            self._refuse(Reason.FILE_UNREADABLE, f"the file cannot be read: {problem.strerror}")
            return None
        try:
            return self._judge(handle, _unit(handle, self._file.source))
        except _Not as refusal:
            self._refuse(refusal.reason, str(refusal))
            return None
        except OSError:
            self.discard()
            raise
        finally:
            os.close(handle)

    def _is_what_was_read(self, handle: int, unit: Unit) -> bool:
        last = self._file.receipt
        if not len(self._file.bronze) and not len(self._file.standing):
            return True
        if last is None:
            return False
        is_same = (unit.length, unit.modified_ns) == (last.unit.length, last.unit.modified_ns)
        return is_same or (bool(last.digest) and _digest_of(handle, last.unit.length) == last.digest)

    def _judge(self, handle: int, unit: Unit) -> Receipt:
        file = self._file
        if file.is_read_since:  # its records are in the tables under that name
            raise _Not(Reason.FILE_CHANGED, _READ_SINCE)
        try:
            is_what_was_read = self._is_what_was_read(handle, unit)
        except OSError as problem:
            raise _Not(Reason.FILE_UNREADABLE, f"the file cannot be read: {problem.strerror}") from problem
        if not is_what_was_read:
            raise _Not(Reason.FILE_CHANGED, _OTHER_RECORDS)
        source = Source(file.source, unit.length, arrival_of(unit.modified_ns), lambda: _reopened(handle))
        judgement = self._desk.judge.judge(source)
        reasons: set[Reason] = set()
        for part in judgement:
            self._take(part, unit)
            reasons.update(letter.reason for letter in part.letters)
        found = judgement.receipt
        missing = file.letters.keys() - set(file.went_home) - file.failed.keys()
        if _unit(handle, file.source) != unit:
            raise _Not(Reason.FILE_CHANGED, "the file changed while it was read")
        if missing:
            word = f"the file holds {found.records} records now, and record {min(missing)} is not among them"
            raise _Not(Reason.FILE_CHANGED, word)
        accepted = len(file.bronze) + file.rows
        self._release()
        is_whole = reasons.isdisjoint(_ABOUT_THE_FILE)
        return Receipt(unit, found.digest, found.records, accepted, found.records - accepted, is_whole)

    def _take(self, part: Judged, unit: Unit) -> None:
        """Rows and letters of the part that are in no table; those at our letters' places decide about these."""
        file = self._file
        taken = np.concatenate([file.bronze, file.standing])
        positions = part.rows.column("_position").to_numpy()
        is_new = ~np.isin(positions, taken)
        rows = part.rows.filter(pa.array(is_new))
        file.rows += rows.num_rows
        file.went_home += [int(one) for one in positions[is_new] if int(one) in file.letters]
        if not self._is_rehearsal:  # another contract may have columns that the table has not
            self._rows.add(self._work.bronze.conform(rows, self._desk.stamps))
        new = [letter for letter in part.letters if letter.position not in set(taken.tolist())]
        file.failed.update({letter.position: letter for letter in new if letter.position in file.letters})
        others = [letter for letter in new if letter.position not in file.letters]
        file.new_letters += len(others)
        if others and not self._is_rehearsal:
            arrived = {"_arrived_at": pa.scalar(arrival_of(unit.modified_ns), pa.timestamp("us", "UTC"))}
            rows = letters_to_arrow(self._desk.judge.contract.dataset, others)
            self._letters.add(self._shape.conform(rows, {**self._desk.stamps, **arrived}))

    def _release(self) -> None:
        self._rows.release(self._desk.bronze)
        self._letters.release(self._new)
        home = [self._file.letters[position] for position in self._file.went_home]
        self._desk.passed.update(str(letter["reason"]) for letter in home)
        self._desk.resolve(_identities(home), Outcome.REPLAYED)
        for position, letter in self._file.failed.items():
            self._fail(position, letter)

    def _fail(self, position: int, letter: DeadLetter) -> None:
        """A record that its letter did not hold is kept with the attempt; one about the file holds none still."""
        identity, is_news = _identities([self._file.letters[position]]), bool(self._file.rows or self._file.new_letters)
        if letter.reason in _ABOUT_THE_FILE or letter.reason is Reason.RECORD_TOO_LARGE:
            self.problem = letter.errors[0].message
            self._desk.fail(identity, [letter.errors], is_news=is_news)
            return
        raw = letter.raw_bytes if letter.raw_bytes is not None else letter.raw.encode()
        texts = {"raw": pa.array([letter.raw]), "raw_bytes": pa.array([raw], pa.binary())}
        self._desk.fail(identity, [letter.errors], is_news=True, **texts)

    def discard(self) -> None:
        """Take back what was written of the file."""
        self._rows.discard()
        self._letters.discard()

    def _refuse(self, reason: Reason, message: str) -> None:
        """Nothing of the file is kept; its letters stay open."""
        self.discard()
        file = self._file
        file.rows, file.new_letters, file.went_home, file.failed = 0, 0, [], {}
        self.problem = message
        problems = [(Problem(reason, "readable", "", "", message),)] * len(file.letters)
        self._desk.fail(_identities(list(file.letters.values())), problems)


def _identities(letters: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    columns = {name: [letter[name] for letter in letters] for name in ("_id", "_source", "_position")}
    kinds = {"_id": pa.string(), "_source": pa.string(), "_position": pa.int64()}
    return pa.RecordBatch.from_pydict(columns, schema=pa.schema(list(kinds.items())))


def _unit(handle: int, source: str) -> Unit:
    stat = os.fstat(handle)
    return Unit(source, stat.st_size, stat.st_mtime_ns)


def _reopened(handle: int) -> BinaryIO:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.fdopen(os.dup(handle), "rb", buffering=0)


def _digest_of(handle: int, length: int) -> str:
    """The hash of the first bytes."""
    found, left = hashlib.sha256(), length
    with _reopened(handle) as content:
        while left > 0 and (chunk := content.read(min(left, 1024 * 1024))):
            found.update(chunk)
            left -= len(chunk)
    return found.hexdigest() if left == 0 else ""
