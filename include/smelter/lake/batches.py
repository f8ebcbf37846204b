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
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from smelter.errors import Unreachable
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
    settles: list[
        str
    ] = []  # ends a recovery: the tokens that the tables had, and all lower sequences, are accounted for


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
        self._put(plan.token, PLANNED, plan)

    def prepare(self, intent: Intent) -> Intent:
        """Write down what is about to be committed; if another process was quicker, its intent counts."""
        kept = self._put(intent.token, PREPARED, intent)
        self._remove(intent.token, PLANNED)
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
        )
        kept = self._put(intent.token, DONE, done)
        self._remove(intent.token, PREPARED)
        self._remove(intent.token, PLANNED)
        return kept

    def forget_plan(self, token: str) -> None:
        """Remove a plan whose units are all in other batches."""
        self._remove(token, PLANNED)

    def forget_intent(self, token: str) -> None:
        """Remove the intent of a batch whose tables are no more."""
        self._remove(token, PREPARED)

    def planned(self) -> list[Plan]:
        """Batches that were never prepared."""
        return [plan for plan in self._read_all(PLANNED, Plan) if not self._has(plan.token, PREPARED, DONE)]

    def prepared(self) -> list[Intent]:
        """Batches that wait for their commits, in their order."""
        waiting = [intent for intent in self._read_all(PREPARED, Intent) if not self._has(intent.token, DONE)]
        return sorted(waiting, key=lambda intent: intent.sequence)

    def done(self) -> list[Done]:
        """Finished batches, in their order."""
        return sorted(self._read_all(DONE, Done), key=lambda done: done.sequence)

    def remove_leftovers(self) -> None:
        """What a killed process left: half-written records, and states that were overtaken."""
        for leftover in self.folder.glob(".*.writing"):
            leftover.unlink(missing_ok=True)
        for state, later in ((PLANNED, (PREPARED, DONE)), (PREPARED, (DONE,))):
            for path in self.folder.glob(f"*.{state}.json"):
                name = path.name.removesuffix(f".{state}.json")
                if any((self.folder / f"{name}.{one}.json").exists() for one in later):
                    path.unlink(missing_ok=True)

    def _path(self, token: str, state: str) -> Path:
        return self.folder / f"{token.partition(':')[2].replace(':', '-')}.{state}.json"

    def _has(self, token: str, *states: str) -> bool:
        return any(self._path(token, state).exists() for state in states)

    def _remove(self, token: str, state: str) -> None:
        self._path(token, state).unlink(missing_ok=True)

    def _put(self, token: str, state: str, record: Record) -> Record:
        """Whole or not at all, and only if it is absent: written aside, made durable, then linked under its name."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(token, state)
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


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
