"""What belongs to no table: old receipts are folded, run files stay within limits, the trash is emptied in its time.

Safe to kill and to repeat: each of them is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from smelter.errors import SmelterError
from smelter.lake.home import Lake
from smelter.lake.lease import Held
from smelter.maintenance import receipts, run_files, trash
from smelter.maintenance.faults import faults_of
from smelter.maintenance.journal import DONE, FAILED, LAKE, PLANNED, POSTPONED, Entry, StepDone, record
from smelter.maintenance.steps import Done, Step, counted, sized


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
    found = _Round(lambda chore: _step(chore, PLANNED, chore.said))
    found.go(lake, datasets, now)
    return LakeReport(tuple(found.steps), found.problem)


def run_lake(lake: Lake, datasets: Sequence[str], now: datetime, run: str) -> LakeReport:
    """Do it; what fails harms nothing else, and is told."""
    began = time.monotonic()
    found = _Round(_do)
    found.go(lake, datasets, now)
    if found.steps or found.problem is not None:
        outcome, said = (DONE, None) if found.problem is None else (_outcome(found.problem), found.problem.what)
        freed = sum(one.bytes_freed for one in found.steps)
        entry = Entry(run, LAKE, now, outcome, time.monotonic() - began, said, freed, tuple(found.steps))
        try:
            record(lake, entry)
        except SmelterError as problem:
            found.problem = found.problem or problem
    return LakeReport(tuple(found.steps), found.problem)


class _Round:
    """One look at everything there may be to do, and what comes of each."""

    def __init__(self, turn: Callable[[Chore], StepDone]) -> None:
        self._turn = turn
        self.steps: list[StepDone] = []
        self.problem: SmelterError | None = None

    def go(self, lake: Lake, datasets: Sequence[str], now: datetime) -> None:
        """Each by itself: what cannot be looked at, or fails, keeps nothing else from its turn."""
        looks = [partial(_receipts, lake, dataset, now) for dataset in datasets]
        looks += [partial(_leftovers, lake, now), partial(_trash, lake, now)]
        for look in looks:
            chore = None
            try:
                with faults_of("the lake", "smelt doctor"):
                    chore = look()
                    if chore is not None:
                        self.steps.append(self._turn(chore))
            except SmelterError as problem:
                self.problem = self.problem or problem
                if chore is not None:
                    self.steps.append(_step(chore, _outcome(problem), problem.what))


def _do(chore: Chore) -> StepDone:
    started = time.monotonic()
    done = chore.act()
    return _step(chore, DONE, done.said, time.monotonic() - started, done.bytes_freed)


def _outcome(problem: SmelterError) -> str:
    return POSTPONED if isinstance(problem, Held) else FAILED


def _receipts(lake: Lake, dataset: str, now: datetime) -> Chore | None:
    found = receipts.due(lake, dataset, now)
    if found is None:
        return None
    why = f"{counted(found.batches, 'old receipt')} of {dataset}, a file each"
    return Chore(why, f"{sized(found.bytes)} into ops.ledger", _folding(lake, dataset, now))


def _leftovers(lake: Lake, now: datetime) -> Chore | None:
    found = run_files.due(lake, now)
    if not found:
        return None
    why = f"{counted(len(found), 'large log or leftover folder')}"
    return Chore(why, f"{sized(sum(one.bytes for one in found))} freed", lambda: _tidied(lake, now))


def _trash(lake: Lake, now: datetime) -> Chore | None:
    over = trash.overdue(lake, now)
    if not over:
        return None
    files = sum(len(one.files) for one in over)
    return Chore(
        f"{counted(files, 'file')} in the trash for long enough", "removed for good", lambda: _emptied(lake, now)
    )


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
