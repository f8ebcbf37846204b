"""The records of batches: what each was about to do, and what it did. The memory that exactly-once stands on.

A batch is *planned* (its units), then *prepared* (its intent: receipts and data files), then *done*. Each record is
written whole or not at all, and never over another; when the next state is there, the one before is removed. So
whatever is killed, the furthest state on disk is true.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from smelter.errors import Refused, Unreachable
from smelter.lake.written import WrittenFile

PLANNED, PREPARED, DONE = "planned", "prepared", "done"
GONE = -1  # the length of a unit that was listed and could not be found


class Unit(msgspec.Struct, frozen=True):
    """One source as it was when it was planned."""

    source: str
    length: int
    modified_ns: int


class Receipt(msgspec.Struct, frozen=True):
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


class Done(msgspec.Struct, frozen=True):
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
    """The records of one stream's batches, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plan(self, plan: Plan) -> None:
        """Write down what is about to be read; planned a second time it is the same."""
        self._put(self._planned(plan.token), plan)

    def prepare(self, intent: Intent) -> Intent:
        """Write down what is about to be committed, under its number: whoever comes second to a number is refused.

        A driver that slept while another worked would otherwise commit units that are in the other's batches.
        """
        kept = self._put(self._numbered(intent.sequence, PREPARED), intent)
        done = self._numbered(intent.sequence, DONE)  # whoever finished it has removed what it had prepared
        if kept.token != intent.token or done.exists():
            if kept is intent:
                self._numbered(intent.sequence, PREPARED).unlink(missing_ok=True)
            raise _overtaken(intent, self.folder)
        self._planned(intent.token).unlink(missing_ok=True)
        return kept

    def finish(self, intent: Intent, snapshots: dict[str, int]) -> Done:
        """Write down that both commits are in the tables."""
        done = Done(
            intent.token,
            intent.sequence,
            intent.contract,
            intent.ingested_at,
            intent.receipts,
            intent.limits,
            intent.tables,
            snapshots,
            intent.settles,
            intent.gaps,
            intent.removes,
        )
        kept = self._put(self._numbered(intent.sequence, DONE), done)
        self._numbered(intent.sequence, PREPARED).unlink(missing_ok=True)
        self._planned(intent.token).unlink(missing_ok=True)
        return kept

    def forget_plan(self, token: str) -> None:
        """Remove a plan whose units are all in other batches."""
        self._planned(token).unlink(missing_ok=True)

    def forget_intent(self, intent: Intent) -> None:
        """Remove the intent of a batch whose tables are no more."""
        self._numbered(intent.sequence, PREPARED).unlink(missing_ok=True)

    def planned(self) -> list[Plan]:
        """Batches that were never prepared."""
        further = self._tokens_beyond_planning()
        return [plan for plan in self._read_all(PLANNED, Plan) if plan.token not in further]

    def prepared(self) -> list[Intent]:
        """Batches that wait for their commits, in their order."""
        waiting = self._read_all(PREPARED, Intent)
        return [intent for intent in waiting if not self._numbered(intent.sequence, DONE).exists()]

    def done(self) -> list[Done]:
        """Finished batches, in their order."""
        return sorted(self._read_all(DONE, Done), key=lambda done: done.sequence)

    def remove_leftovers(self) -> None:
        """What a killed process left: half-written records, and states that were overtaken."""
        for leftover in self.folder.glob(".*.writing"):
            leftover.unlink(missing_ok=True)
        for path in self.folder.glob(f"*.{PREPARED}.json"):
            if path.with_name(path.name.replace(PREPARED, DONE)).exists():
                path.unlink(missing_ok=True)
        further = self._tokens_beyond_planning() if any(self.folder.glob(f"*.{PLANNED}.json")) else set()
        for plan in [plan for plan in self._read_all(PLANNED, Plan) if plan.token in further]:
            self.forget_plan(plan.token)

    def _tokens_beyond_planning(self) -> set[str]:
        return {intent.token for intent in self.prepared()} | {done.token for done in self.done()}

    def _planned(self, token: str) -> Path:
        return self.folder / f"{token.partition(':')[2].replace(':', '-')}.{PLANNED}.json"

    def _numbered(self, sequence: int, state: str) -> Path:
        return self.folder / f"{sequence:09}.{state}.json"

    def _put(self, path: Path, record: Record) -> Record:
        """Whole or not at all, and only if it is absent: written aside, made durable, then linked under its name."""
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / f".{uuid.uuid4().hex}.writing"
        try:
            with aside.open("wb") as file:
                file.write(msgspec.json.encode(record))
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(aside, path)
            except FileExistsError:
                kept = self._read(path, type(record))
                return record if kept == record else kept
        finally:
            aside.unlink(missing_ok=True)
        _sync_folder(self.folder)
        return record

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


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
