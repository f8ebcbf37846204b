"""Letters are judged once more, under the contract that is active now; the good ones go home to bronze.

Safe to kill and to repeat: a run is prepared before it is committed, and finished before another begins. A letter that
went home is open no more, so that a second replay does not find it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from smelter.dead_letters.files import NO_FILES, FileAgain, read_files_again
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters
from smelter.dead_letters.run import NO_HOOKS, Hooks, Runs, raise_trouble, running
from smelter.dead_letters.work import Replayed, Task, Work, do, do_share
from smelter.dead_letters.workers import cores, each_in_a_process
from smelter.lake.home import BRONZE, Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS
from smelter.lake.tables import active_contract, load_table
from smelter.records import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE_LETTERS = 150_000  # more than this are worth a second process
_OUTCOME = "outcome binary"


@dataclass(frozen=True)
class Wishes:
    """What the person who replays wants."""

    wait_seconds: float = DEFAULT_WAIT_SECONDS
    only_passing: bool = False  # leave letters that fail as they are, without one more attempt
    here_letters: int = HERE_LETTERS


@dataclass(frozen=True)
class ReplayReport:
    """What one replay did."""

    dataset: str
    contract: str
    run: str | None = None  # nothing if there was nothing to commit
    passed: dict[str, int] = field(default_factory=dict)  # reason that letters had, to how many are in bronze now
    failed: dict[str, int] = field(default_factory=dict)  # reason that letters have now, to how many are still open
    files: tuple[FileAgain, ...] = ()

    @property
    def recovered(self) -> int:
        """Letters that are in bronze now."""
        return sum(self.passed.values())

    @property
    def still_open(self) -> int:
        """Letters that were tried and are not good."""
        return sum(self.failed.values())


_NO_WISHES = Wishes()


def replay(
    lake: Lake,
    dataset: str,
    filters: Filters,
    limits: Limits,
    wishes: Wishes = _NO_WISHES,
    hooks: Hooks = NO_HOOKS,
    spark: SparkSession | None = None,
) -> ReplayReport:
    """Bring home the letters that are good now; works beside a running stream."""
    with running(lake, dataset, limits, f"smelt dlq replay {dataset}", hooks, wishes.wait_seconds) as runs:
        with Letters(lake, dataset) as letters:
            whole, from_files = letters.count(filters)
            work = replace(runs.new("replay"), notes_failures=not wishes.only_passing)
            done = _judged(runs, work, letters, filters, whole, wishes, spark)
            again = read_files_again(runs, work, letters.from_files(filters)) if from_files else NO_FILES
        parts = [*done, again.replayed]
        report = ReplayReport(
            dataset,
            runs.contract.label,
            work.token,
            _total(one.passed for one in parts),
            _total(one.failed for one in parts),
            again.files,
        )
        resolutions = [file for one in parts for file in one.resolutions]
        if not resolutions:
            return replace(report, run=None)
        runs.commit(
            work,
            resolutions,
            bronze=[file for one in parts for file in one.bronze],
            letters=again.letters,
            receipts=again.receipts,
        )
        return report


def worth_a_try(lake: Lake, dataset: str, filters: Filters) -> tuple[Filters, str]:
    """Letters that the active contract has not refused already; and why none is tried, if its contract does not ask.

    The judge has no clock: what a contract refused once it refuses again. Letters about files are tried every time.
    """
    contract = active_contract(load_table(lake, BRONZE, dataset))
    if not contract.dead_letters.auto_replay:
        why = f"{contract.label} does not say auto_replay: true; nothing was replayed"
        return filters, f"{why}; smelt dlq replay {dataset} does it by hand"
    return replace(filters, not_judged_by=contract.label), ""


def _judged(
    runs: Runs, work: Work, letters: Letters, filters: Filters, count: int, wishes: Wishes, spark: SparkSession | None
) -> Sequence[Replayed]:
    """In this process, in several, or as tasks of Spark where somebody gives a session."""
    if not count:
        return []
    if count <= wishes.here_letters and spark is None:
        done: Sequence[Replayed] = [do(replace(work, reach=runs.hooks.reach), letters.whole(filters))]
    else:
        lake = Lake(runs.lake.root, runs.lake.jars, runs.lake.address)  # without what it has open
        shares = letters.shares(cores() if spark is None else spark.sparkContext.defaultParallelism)
        tasks = [Task(work, lake, runs.dataset, filters, share) for share in shares]
        done = each_in_a_process(do_share, tasks) if spark is None else _on_spark(spark, tasks)
    for one in done:
        raise_trouble(one.trouble)
    return done


def _on_spark(spark: SparkSession, tasks: Sequence[Task]) -> list[Replayed]:
    """One row per task goes in, one outcome per task comes out, as for the stream's batches."""
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    rows = numbers.mapInArrow(_task_of(tuple(tasks)), _OUTCOME).collect()
    return [msgspec.json.decode(bytes(row.outcome), type=Replayed) for row in rows]


def _task_of(tasks: tuple[Task, ...]):  # type: ignore[no-untyped-def]  # Spark's own signature
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            outcomes = [msgspec.json.encode(do_share(tasks[number])) for number in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.binary())], names=["outcome"])

    return run


def _total(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in counts:
        found.update(one)
    return dict(found.most_common())
