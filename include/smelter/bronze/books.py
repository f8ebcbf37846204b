"""What the driver knows of earlier batches: which sources are committed, which were only planned."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from smelter.lake.batches import BatchRecords, Done, Intent, Plan, Unit
from smelter.lake.recoveries import RECOVER, is_recovering_after, origin_of

REREAD = "reread"
RECOVER_PART = "recover-part"  # of a sound stream: unlike a whole recovery, each of its batches stands for itself
ASKED = (REREAD, RECOVER, RECOVER_PART)  # where a batch comes from that a person asked for
_CHECKPOINT = re.compile(r"[0-9a-f]{12}")
_TICK = timedelta(microseconds=1)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Books:
    """The memory of one stream, read once when its driver starts and kept up with each batch."""

    def __init__(self, records: BatchRecords, runs: BatchRecords) -> None:
        """`runs` are those over dead letters: they write rows of their own, and may read a file again."""
        self.records = records
        self._runs = runs
        self._planned: dict[str, Unit] = {}
        self.committed: dict[str, Unit] = {}
        self.tokens: set[str] = set()
        self.sequences: set[int] = set()
        self._folded_up_to = 0
        self._gaps: set[int] = set()  # of records that were lost, and whose batches a recovery has accounted for
        self.is_recovering = False  # a recovery was begun and has not come to its end
        self.tables: dict[str, str] = {}
        self.last_ingested_at = _LONG_AGO
        for done in records.done():
            self.enter(done)
        self._folded_up_to = records.folded_up_to()
        self._heed_runs()
        self.waiting = records.prepared()
        for intent in self.waiting:
            self.enter(intent)
        self.plans = records.planned()
        self._planned = _units_of(self.plans)

    def enter(self, batch: Done | Intent) -> None:
        """A batch that is, or certainly will be, in the tables."""
        for receipt in batch.receipts:
            self.committed[receipt.unit.source] = receipt.unit
            self._planned.pop(receipt.unit.source, None)
        self.tokens.add(batch.token)
        self.sequences.add(batch.sequence)
        self.tokens.update(batch.settles)
        self._gaps.update(batch.gaps)
        self.is_recovering = is_recovering_after(batch, before=self.is_recovering)
        self.tables.update(batch.tables)
        self.last_ingested_at = max(self.last_ingested_at, batch.ingested_at)

    def _heed_runs(self) -> None:
        """A file that such a run read again was in a batch before: only its size and time are others since."""
        runs: list[Done | Intent] = [*self._runs.prepared()]  # first: one that goes on meanwhile is in both
        runs += self._runs.done()
        for run in runs:
            self.committed.update({one.unit.source: one.unit for one in run.receipts})
            self.last_ingested_at = max(self.last_ingested_at, run.ingested_at)

    def has_record_of(self, moment: datetime) -> bool:
        """Is there a record of a batch or run that is as new? A run may have begun since the books were read."""
        if moment > self.last_ingested_at:
            self._heed_runs()
        return moment <= self.last_ingested_at

    def leave(self, intent: Intent) -> None:
        """A prepared batch that cannot be finished and is in no table: units that no other batch has are free again."""
        for receipt in intent.receipts:
            self.committed.pop(receipt.unit.source, None)
        left = {receipt.unit.source for receipt in intent.receipts}
        done = (receipt.unit for batch in self.records.done() for receipt in batch.receipts)
        self.committed.update({unit.source: unit for unit in done if unit.source in left})
        self.tokens.discard(intent.token)
        self.sequences.discard(intent.sequence)

    def not_committed(self, units: Iterable[Unit]) -> list[Unit]:
        """The units that are in no batch yet, each as it was first planned."""
        return [self._planned.get(unit.source, unit) for unit in units if unit.source not in self.committed]

    def readings_of(self, source: str) -> int:
        """How often a file was taken in: `a.json`, `a.json#2`, …"""
        count = 0
        while (source if count == 0 else f"{source}#{count + 1}") in self.committed:
            count += 1
        return count

    def plan(self, plan: Plan) -> None:
        """Remember what is about to be read, durably."""
        self.records.plan(plan)
        self._planned.update({unit.source: unit for unit in plan.units})

    def forget_overtaken_plans(self) -> None:
        """Plans of killed batches whose units have all come in with others since."""
        overtaken = [plan for plan in self.plans if all(unit.source in self.committed for unit in plan.units)]
        for plan in overtaken:
            self.records.forget_plan(plan.token)
        self.plans = [plan for plan in self.plans if plan not in overtaken]

    def forget_asked(self) -> None:
        """Plans that a person asked for and that were killed: nothing of them is in a table, the person asks again."""
        for plan in self.plans:
            if origin_of(plan.token) in ASKED:
                self.records.forget_plan(plan.token)
        self.plans = [plan for plan in self.plans if origin_of(plan.token) not in ASKED]
        self._planned = _units_of(self.plans)

    def only_planned(self) -> list[Unit]:
        """Units that were planned by a killed batch and are committed nowhere."""
        return [unit for unit in self._planned.values() if unit.source not in self.committed]

    def next_sequence(self) -> int:
        """Batches are numbered without a gap, so that a lost record is noticed; a folded number is never used again."""
        return max(self._folded_up_to, max(self.sequences, default=0)) + 1

    def missing_sequences(self) -> list[int]:
        """Numbers that no record has: records that somebody removed, from the folder or from `ops.ledger`."""
        return sorted(set(range(1, self.next_sequence())) - self.sequences - self._gaps)

    def next_ingested_at(self, now: datetime, newest: datetime | None) -> datetime:
        """Strictly later than any before, also if the clock was set back."""
        floor = max(self.last_ingested_at, newest or _LONG_AGO)
        return max(now, floor + _TICK)


def is_streamed(token: str) -> bool:
    """Did Spark hand the batch out? All others a person asked for, or they are about files that are gone."""
    return _CHECKPOINT.fullmatch(origin_of(token)) is not None


def _units_of(plans: Iterable[Plan]) -> dict[str, Unit]:
    return {unit.source: unit for plan in plans for unit in plan.units}
