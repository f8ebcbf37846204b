"""Letters that nobody wants back are closed, with a reason; they stay where they are until their time is up."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import BATCH_ROWS, Letters
from smelter.dead_letters.run import NO_HOOKS, Hooks, running
from smelter.dead_letters.work import IDENTITY, Desk
from smelter.lake.home import Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS
from smelter.lake.letter_status import Outcome
from smelter.records import Limits


@dataclass(frozen=True)
class Discarded:
    """What one run closed."""

    dataset: str
    run: str | None  # nothing if no letter was meant
    letters: int


def discard(
    lake: Lake,
    dataset: str,
    filters: Filters,
    because: str,
    limits: Limits,
    hooks: Hooks = NO_HOOKS,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Discarded:
    """Close open letters. Safe to kill and to repeat: a closed letter is not found a second time; `undo` opens it."""
    with running(lake, dataset, limits, f"smelt dlq discard {dataset}", hooks, wait_seconds) as runs:
        work, count = runs.new("discard"), 0
        desk = Desk(work)
        with Letters(lake, dataset) as letters:
            for batch in letters.ask(f"select {', '.join(IDENTITY)}", filters).batches(BATCH_ROWS):
                count += batch.num_rows
                desk.resolve(batch, Outcome.DISCARDED, because=pa.repeat(because, batch.num_rows))
        if not count:
            return Discarded(dataset, None, 0)
        runs.commit(work, desk.resolutions.finish())
        return Discarded(dataset, work.token, count)
