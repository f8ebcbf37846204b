"""One batch: plan, judge, prepare, commit, finish. The heart of exactly-once.

Safe to kill between any two lines and to repeat: before `prepare` nothing is in a table, and a second try reads
the same units; after it the batch is finished from its intent, whatever became of its sources; and a commit that is
there is not made again, because its token is looked for first.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from pyiceberg.table import Table

from smelter.bronze.books import Books
from smelter.bronze.commit import commit_intent
from smelter.bronze.spread import shares
from smelter.bronze.work import Outcome, Present, Work
from smelter.contracts import Contract
from smelter.errors import Refused, Unreachable
from smelter.lake.batches import Done, Intent, Plan, Receipt, Unit, token_of
from smelter.lake.commits import Commit, is_committed, newest_told
from smelter.lake.data_files import TableShape
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.tables import ACTIVE, active_contract, ensure_tables, load_table
from smelter.records import Limits

Run = Callable[[Sequence[Work]], Iterable[Outcome]]


@dataclass(frozen=True)
class Report:
    """What one batch did."""

    batch: int
    token: str
    files: int
    records: int
    accepted: int
    dead: int
    seconds: float
    receipts: tuple[Receipt, ...]


class Bronze:
    """One dataset's way into its two tables."""

    def __init__(
        self,
        lake: Lake,
        contract: Contract,
        limits: Limits,
        run: Run,
        reach: Callable[[str], None] = lambda _point: None,
        task_reach: Callable[[str], None] | None = None,
    ) -> None:
        self.lake = lake
        self.dataset = contract.dataset
        self.limits = limits
        self._run = run
        self._reach = reach
        self._task_reach = task_reach
        self.contract = ensure_tables(lake, contract)
        self.records = lake.batches(self.dataset)
        self.records.remove_leftovers()
        self.books = Books(self.records, lake.letter_batches(self.dataset))

    def run_with(self, run: Run) -> None:
        """From now on, judge with these tasks."""
        self._run = run

    def finish_prepared(self) -> list[Report]:
        """Finish the batches that were prepared and perhaps committed, from what their intents hold."""
        able = [intent for intent in self.books.waiting if self._can_be_finished(intent)]
        self.books.waiting = []
        return [self.finish(intent, time.monotonic(), -1, may_be_there=True) for intent in able]

    def _can_be_finished(self, intent: Intent) -> bool:
        """Are its data files there? If somebody removed them and nothing is committed, its sources are read again."""
        lost = self.lost_files(intent)
        if not any(lost.values()):
            return True
        if len(lost) < sum(map(bool, (intent.letters, intent.bronze))):
            raise _half_lost(intent, self.dataset, next(path for paths in lost.values() for path in paths))
        self.records.forget_intent(intent)
        self.books.leave(intent)
        return False

    def lost_files(self, intent: Intent) -> dict[str, list[str]]:
        """For each table that does not have the batch yet: its data files that somebody removed."""
        lost = {}
        for namespace, files in ((DEAD_LETTERS, intent.letters), (BRONZE, intent.bronze)):
            table = self.table(namespace)
            if files and not is_committed(table, Commit(intent.token, intent.ingested_at, files, {}), ask_rows=True):
                lost[namespace] = [file.path for file in files if not table.io.new_input(file.path).exists()]
        return lost

    def take_in(
        self, units: Iterable[Unit], origin: str, number: int, present: Mapping[str, Present] | None = None
    ) -> Report | None:
        """Bring the units that are in no batch yet into the tables, each record once; nothing to do is no batch."""
        started = time.monotonic()
        fresh = self.books.not_committed(units) if present is None else list(units)
        if not fresh:
            return None
        plan = Plan(token_of(self.dataset, origin, number, fresh), fresh)
        self.books.plan(plan)
        self._reach("planned")
        ours = self._judge(plan, present or {})
        self._reach("judged")
        intent = self.records.prepare(ours)
        self.books.enter(intent)
        self._reach("prepared")
        return self.finish(intent, started, number, may_be_there=intent is not ours)

    def _judge(self, plan: Plan, present: Mapping[str, Present]) -> Intent:
        """One pass over the units, in tasks; what comes back is receipts and data files, never a row."""
        bronze, letters = self.table(BRONZE), self.table(DEAD_LETTERS)
        self.contract = active_contract(bronze)
        moment = self.books.next_ingested_at(datetime.now(UTC), newest_told(bronze, letters))
        outcomes = list(self._run(self._works(plan, moment, bronze, letters, present)))
        raise_trouble(outcomes)
        return Intent(
            token=plan.token,
            sequence=self.books.next_sequence(),
            contract=self.contract.label,
            ingested_at=moment,
            receipts=[receipt for outcome in outcomes for receipt in outcome.receipts],
            bronze=[file for outcome in outcomes for file in outcome.bronze],
            letters=[file for outcome in outcomes for file in outcome.letters],
            limits=asdict(self.limits),
            tables={BRONZE: str(bronze.metadata.table_uuid), DEAD_LETTERS: str(letters.metadata.table_uuid)},
        )

    def _works(
        self, plan: Plan, moment: datetime, bronze: Table, letters: Table, present: Mapping[str, Present]
    ) -> list[Work]:
        shapes = TableShape.of(bronze), TableShape.of(letters)
        return [
            Work(
                token=plan.token,
                ingested_at=moment,
                contract=bronze.properties[ACTIVE],
                limits=self.limits,
                units=tuple(share),
                bronze=shapes[0],
                letters=shapes[1],
                present={unit.source: present[unit.source] for unit in share if unit.source in present},
                reach=self._task_reach,
            )
            for share in shares(plan.units)
        ]

    def finish(self, intent: Intent, started: float, number: int, *, may_be_there: bool) -> Report:
        """Commit what was prepared: dead letters first, so that rows are never seen before the letters beside them."""
        may_be_there = may_be_there or self.records.was_finished_by_another(intent)
        snapshots = commit_intent(self.lake, self.dataset, intent, self._reach, may_be_there=may_be_there)
        self._reach("committed")
        done = self.records.finish(intent, snapshots)
        self.books.forget_overtaken_plans()
        self._reach("done")
        return _report(done, number, time.monotonic() - started)

    def table(self, namespace: str) -> Table:
        """The dataset's table, as it is now."""
        return load_table(self.lake, namespace, self.dataset)


def _report(done: Done, number: int, seconds: float) -> Report:
    receipts = tuple(done.receipts)
    records, accepted, dead = (sum(getattr(one, name) for one in receipts) for name in ("records", "accepted", "dead"))
    return Report(number, done.token, len(receipts), records, accepted, dead, seconds, receipts)


def raise_trouble(outcomes: Sequence[Outcome]) -> None:
    """Say why a task could not do its share, if one could not."""
    for outcome in outcomes:
        if outcome.trouble is not None:
            trouble = outcome.trouble
            is_full = trouble.number in (errno.ENOSPC, errno.EDQUOT)
            raise Unreachable(
                "the disk is full" if is_full else f"data files cannot be written: {trouble.message}",
                where=trouble.where,
                data="the batch is in no table; its files are still in the landing folder and will be read again",
                next_step="free some room and run it again" if is_full else "mend it and run it again",
            )


def _half_lost(intent: Intent, dataset: str, path: str) -> Refused:
    return Refused(
        f"batch {intent.token} is in one table, and its data files for the other are gone",
        where=path,
        data="nothing was changed",
        next_step=f"smelt ingest {dataset} --recover reads its sources again and writes only what is missing",
    )
