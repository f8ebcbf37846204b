"""Small batches: one new file of a hundred records at a time, from its arrival to its commit, hundreds of times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smelter.bench.follower import Follower
from smelter.bench.meters import cpu_seconds
from smelter.contracts import Contract
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.tables import load_table
from smelter.producer import Plan, produce

RECORDS = 100
WARM_UP = 10
KEPT_SNAPSHOTS = 50
_EXPIRE_EVERY = 25
_SETTLE_SECONDS = 0.05  # lets the last batch's own tidying end, so that it is not counted here


@dataclass(frozen=True)
class Batch:
    """One small batch."""

    seconds: float
    cpu_seconds: float
    commit_seconds: float


@dataclass(frozen=True)
class SmallBatches:
    """All of them in order. The first ones, which still warm up, are not among them."""

    batches: tuple[Batch, ...]

    @property
    def compared(self) -> int:
        """How many batches at either end are compared."""
        return min(50, max(1, len(self.batches) // 2))

    @property
    def seconds(self) -> float:
        """The median of all."""
        return statistics.median(batch.seconds for batch in self.batches)

    def growth(self, figure: Callable[[Batch], float]) -> float:
        """The median of the last ones as a multiple of that of the first ones."""
        found = [figure(batch) for batch in self.batches]
        return statistics.median(found[-self.compared :]) / statistics.median(found[: self.compared])


def run_small_batches(follower: Follower, count: int) -> SmallBatches:
    """A file at a time for a stream that follows; snapshots are expired by count, as maintenance would."""
    taken = []
    for number in range(WARM_UP + count):
        if number % _EXPIRE_EVERY == _EXPIRE_EVERY - 1:
            _expire(follower.lake, follower.contract)
        file = _file(follower.landing, follower.contract, number)
        taken.append(small_batch(follower, file, f"small-{number}.json"))
    return SmallBatches(tuple(taken[WARM_UP:]))


def small_batch(follower: Follower, file: Path, name: str, settle_seconds: float = _SETTLE_SECONDS) -> Batch:
    """Let one file arrive, and wait for its batch."""
    time.sleep(settle_seconds)
    used, started = cpu_seconds(), time.monotonic()
    file.rename(follower.landing / name)
    report = follower.next_report()
    return Batch(time.monotonic() - started, cpu_seconds() - used, report.seconds)


def _file(landing: Path, contract: Contract, number: int) -> Path:
    plan = Plan(count=RECORDS, to=landing / f".small-{number}", seed=number, records_per_file=RECORDS)
    (file,) = produce(contract, plan).files
    return file


def _expire(lake: Lake, contract: Contract) -> None:
    """Keep the newest snapshots only. The stream's newest token is among them."""
    for namespace in (BRONZE, DEAD_LETTERS):
        table = load_table(lake, namespace, contract.dataset)
        old = sorted(table.metadata.snapshots, key=lambda one: one.timestamp_ms)[:-KEPT_SNAPSHOTS]
        if old:
            table.maintenance.expire_snapshots().by_ids([one.snapshot_id for one in old]).commit()
