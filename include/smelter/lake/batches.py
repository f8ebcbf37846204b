"""The records of batches: what each was about to do, and what it did. The memory that exactly-once stands on.

A batch is *planned* (its units), then *prepared* (its intent: receipts and data files), then *done*. Each record is
written whole or not at all, and never over another; when the next state is there, the one before is removed. So
whatever is killed, the furthest state on disk is true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from smelter.errors import Refused, Unreachable
from smelter.lake import durable
from smelter.lake.fold_marks import read_mark
from smelter.lake.written import WrittenFile

PLANNED, PREPARED, DONE = "planned", "prepared", "done"
GONE = -1  # the length of a unit that was listed and could not be found


class Unit(msgspec.Struct, frozen=True, gc=False):
    """One source as it was when it was planned."""

    source: str
    length: int
    modified_ns: int


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """What one unit held. `records = accepted + dead`."""

    unit: Unit
    digest: str
    records: int
    accepted: int
    dead: int
    is_whole: bool = True  # no letter about the file itself: it was read to its end as it was planned


class Plan(msgspec.Struct, frozen=True):
    """A batch that is about to be read."""

    token: str
    units: list[Unit]


class Intent(msgspec.Struct, frozen=True):
    """A batch that was read and judged: from here on it can be finished without its sources."""

    token: str
    sequence: int
    contract: str
    ingested_at: datetime
    receipts: list[Receipt]
    bronze: list[WrittenFile]
    letters: list[WrittenFile]
    limits: dict[str, int]  # under which its files were cut into records; a recount needs the same
    tables: dict[str, str]  # table to its uuid: a table that was dropped and made again is another one
    settles: list[str] = []  # ends a recovery: the tokens that the tables had are accounted for,
    gaps: list[int] = []  # and so are the sequences whose records were lost
    resolutions: list[WrittenFile] = []  # what became of letters, where it is a run over these
    removes: list[str] = []  # batches whose rows leave the tables


class Done(msgspec.Struct, frozen=True, gc=False):
    """A batch whose commits are in the tables."""

    token: str
    sequence: int
    contract: str
    ingested_at: datetime
    receipts: list[Receipt]
    limits: dict[str, int]
    tables: dict[str, str]
    snapshots: dict[str, int]
    settles: list[str] = []
    gaps: list[int] = []
    removes: list[str] = []


Record = TypeVar("Record", Plan, Intent, Done)


def token_of(stream: str, origin: str, number: int, units: Iterable[Unit]) -> str:
    """The batch's name everywhere. It changes with its units, because Spark may plan a lost batch again with others."""
    digest = hashlib.sha256()
    for unit in sorted(units, key=lambda one: one.source):
        digest.update(msgspec.json.encode(unit))
    return f"{stream}:{origin}:{number}:{digest.hexdigest()[:16]}"


class BatchRecords:
    """The records of one stream's batches, in one folder; old ones in `ops.ledger`."""

    def __init__(self, folder: Path, folded: Callable[[str], Iterable[Done]] | None = None) -> None:
        """`folded` reads the batches of a book in `ops.ledger`; without it only the folder is known. See `Lake`."""
        self.folder = folder
        self._folded = folded

    def plan(self, plan: Plan) -> None:
        """Write down what is about to be read; planned a second time it is the same."""
        self._put(self._planned(plan.token), plan)

    def prepare(self, intent: Intent) -> Intent:
        """Write down what is about to be committed, under its number: whoever comes second to a number is refused.

        A driver that slept while another worked would otherwise commit units that are in the other's batches.
        """
        kept = self._put(self._numbered(intent.sequence, PREPARED), intent)
        if kept.token != intent.token or self._is_done(intent.sequence):  # whoever finished it removed its intent
            if kept is intent:
                self._numbered(intent.sequence, PREPARED).unlink(missing_ok=True)
            raise _overtaken(intent, self.folder)
        self._planned(intent.token).unlink(missing_ok=True)
        return kept

    def finish(self, intent: Intent, snapshots: dict[str, int]) -> Done:
        """Write down that both commits are in the tables."""
        told = {name: getattr(intent, name) for name in Done.__struct_fields__ if name != "snapshots"}
        done = Done(**told, snapshots=snapshots)
        kept = self._put(self._numbered(intent.sequence, DONE), done)
        self._numbered(intent.sequence, PREPARED).unlink(missing_ok=True)
        self._planned(intent.token).unlink(missing_ok=True)
        return kept

    def was_finished_by_another(self, intent: Intent) -> bool:
        """Is what was prepared no longer waiting? Whoever slept since must ask the tables before it commits."""
        return self._is_done(intent.sequence) or not self._numbered(intent.sequence, PREPARED).exists()

    def forget_plan(self, token: str) -> None:
        """Remove a plan whose units are all in other batches."""
        self._planned(token).unlink(missing_ok=True)

    def forget_intent(self, intent: Intent) -> None:
        """Remove the intent of a batch whose tables are no more."""
        self._numbered(intent.sequence, PREPARED).unlink(missing_ok=True)

    def planned(self) -> list[Plan]:
        """Batches that were never prepared."""
        plans = list(self._read_all(PLANNED, Plan))
        further = self._tokens_beyond_planning() if plans else set()
        return [plan for plan in plans if plan.token not in further]

    def prepared(self) -> list[Intent]:
        """Batches that wait for their commits, in their order."""
        waiting = self._read_all(PREPARED, Intent)
        return [intent for intent in waiting if not self._is_done(intent.sequence)]

    def done(self) -> list[Done]:
        """Finished batches, in their order, each once; also those that were folded.

        Files first: whoever folds adds rows, then says so, then removes files. What is gone from here is there by then.
        """
        known = {(done.sequence, done.token): done for done in self._read_all(DONE, Done)}
        mark = read_mark(self.folder)
        if mark is not None and self._folded is not None:
            known = {**{(done.sequence, done.token): done for done in self._folded(mark.book)}, **known}
        return sorted(known.values(), key=lambda done: done.sequence)

    def done_files(self) -> list[Path]:
        """The records of finished batches that lie in the folder, in their order."""
        return sorted(self.folder.glob(f"*.{DONE}.json"))

    def read_done(self, path: Path) -> Done:
        """One of these records."""
        return self._read(path, Done)

    def folded_up_to(self) -> int:
        """Up to which number batches were folded; 0 if none was."""
        mark = read_mark(self.folder)
        return mark.up_to if mark is not None else 0

    def last_sequence(self) -> int:
        """The highest number that a finished batch has; no record is opened."""
        numbers = [_number(path) for path in self.done_files()]
        return max([self.folded_up_to(), *numbers])

    def remove_leftovers(self) -> None:
        """What a killed process left: half-written records, and states that were overtaken."""
        for leftover in self.folder.glob(".*.writing"):
            leftover.unlink(missing_ok=True)
        self.remove_overtaken()

    def remove_overtaken(self) -> None:
        """States whose next one is there. May be done beside the driver, which would do the same."""
        for path in self.folder.glob(f"*.{PREPARED}.json"):
            if self._is_done(_number(path)):
                path.unlink(missing_ok=True)
        further = self._tokens_beyond_planning() if any(self.folder.glob(f"*.{PLANNED}.json")) else set()
        for plan in [plan for plan in self._read_all(PLANNED, Plan) if plan.token in further]:
            self.forget_plan(plan.token)

    def _is_done(self, sequence: int) -> bool:
        """The file first: it is removed only after the mark says that its batch was folded."""
        return self._numbered(sequence, DONE).exists() or sequence <= self.folded_up_to()

    def _tokens_beyond_planning(self) -> set[str]:
        """Without folded ones: whoever folds has removed their plans before."""
        return {intent.token for intent in self.prepared()} | {done.token for done in self._read_all(DONE, Done)}

    def _planned(self, token: str) -> Path:
        return self.folder / f"{token.partition(':')[2].replace(':', '-')}.{PLANNED}.json"

    def _numbered(self, sequence: int, state: str) -> Path:
        return self.folder / f"{sequence:09}.{state}.json"

    def _put(self, path: Path, record: Record) -> Record:
        """Whole or not at all, and only if it is absent; returns what is there now."""
        if durable.put_if_absent(path, msgspec.json.encode(record)):
            return record
        kept = self._read(path, type(record))
        return record if kept == record else kept

    def _read_all(self, state: str, kind: type[Record]) -> Iterator[Record]:
        for path in sorted(self.folder.glob(f"*.{state}.json")):
            with suppress(FileNotFoundError):  # it has gone on to its next state
                yield self._read(path, kind)

    def _read(self, path: Path, kind: type[Record]) -> Record:
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except msgspec.DecodeError as problem:
            raise Unreachable(
                f"the record of a batch cannot be read: {problem}",
                where=str(path),
                data="nothing was changed; the tables hold what was committed",
                next_step=f"move the file away, then: smelt ingest {self.folder.name} --recover",
            ) from problem


def _overtaken(intent: Intent, folder: Path) -> Refused:
    return Refused(
        f"another driver has batch {intent.sequence} already",
        where=str(folder),
        data="nothing of this batch was committed by this driver",
        next_step=f"smelt ingest {folder.name} --drain goes on from what the other one did",
    )


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0])
