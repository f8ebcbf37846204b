"""What belongs to no table: old receipts are folded, run files stay within limits, the trash is emptied in its time.

Safe to kill and to repeat: each of them is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from smelter.errors import SmelterError
from smelter.lake.home import Lake
from smelter.maintenance import receipts, run_files, trash
from smelter.maintenance.journal import DONE, FAILED, PLANNED, Entry, StepDone, record
from smelter.maintenance.steps import Done, Step, counted, sized

LAKE = "lake"  # in the journal, instead of a table's name


@dataclass(frozen=True)
class Chore:
    """One thing to do for the lake as a whole."""

    why: str
    said: str
    act: Callable[[], Done]


@dataclass(frozen=True)
class LakeReport:
    """What the lake as a whole needs, or what was done."""

    steps: tuple[StepDone, ...] = ()
    problem: SmelterError | None = None


def plan_lake(lake: Lake, datasets: Sequence[str], now: datetime) -> LakeReport:
    """What there is to do; changes nothing."""
    return LakeReport(tuple(_step(one, PLANNED, one.said) for one in _chores(lake, datasets, now)))


def run_lake(lake: Lake, datasets: Sequence[str], now: datetime, run: str) -> LakeReport:
    """Do it; what fails harms nothing else, and is told."""
    steps, problem, began = [], None, time.monotonic()
    for chore in _chores(lake, datasets, now):
        started = time.monotonic()
        try:
            done = chore.act()
            steps.append(_step(chore, DONE, done.said, time.monotonic() - started, done.bytes_freed))
        except SmelterError as found:
            problem = found
            steps.append(_step(chore, FAILED, found.what, time.monotonic() - started))
    if steps:
        outcome, said = (DONE, None) if problem is None else (FAILED, problem.what)
        freed = sum(one.bytes_freed for one in steps)
        record(lake, Entry(run, LAKE, now, outcome, time.monotonic() - began, said, freed, tuple(steps)))
    return LakeReport(tuple(steps), problem)


def _chores(lake: Lake, datasets: Sequence[str], now: datetime) -> Iterator[Chore]:
    for dataset in datasets:
        found = receipts.due(lake, dataset, now)
        if found is not None:
            why = f"{counted(found.batches, 'old receipt')} of {dataset}, a file each"
            yield Chore(why, f"{sized(found.bytes)} into ops.ledger", _folding(lake, dataset, now))
    leftovers = run_files.due(lake, now)
    if leftovers:
        why = f"{counted(len(leftovers), 'large log or leftover folder')}"
        yield Chore(why, f"{sized(sum(one.bytes for one in leftovers))} freed", lambda: _tidied(lake, now))
    over = trash.overdue(lake, now)
    if over:
        files = sum(len(one.files) for one in over)
        why = f"{counted(files, 'file')} in the trash for long enough"
        yield Chore(why, "removed for good", lambda: _emptied(lake, now))


def _folding(lake: Lake, dataset: str, now: datetime) -> Callable[[], Done]:
    def fold() -> Done:
        done = receipts.fold(lake, dataset, now)
        return Done(f"{done.batches:,} batches of {dataset} are in ops.ledger", done.bytes)

    return fold


def _tidied(lake: Lake, now: datetime) -> Done:
    gone = run_files.tidy(lake, now)
    return Done(f"{len(gone):,} logs and folders tidied", sum(one.bytes for one in gone))


def _emptied(lake: Lake, now: datetime) -> Done:
    freed = trash.empty(lake, trash.overdue(lake, now))
    return Done(f"{sized(freed)} removed from the trash", freed)


def _step(chore: Chore, outcome: str, said: str, seconds: float = 0.0, freed: int = 0) -> StepDone:
    return StepDone(Step.RECORDS, outcome, chore.why, said, seconds, freed)
