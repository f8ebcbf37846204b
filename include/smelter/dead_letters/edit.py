"""A corrected copy of one letter is judged and goes home; the letter itself stays in the history as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from smelter.dead_letters.filters import FROM_FILES, Filters
from smelter.dead_letters.letters import JUDGED, Letters
from smelter.dead_letters.run import NO_HOOKS, Hooks, running
from smelter.dead_letters.work import IDENTITY, Desk, texts_of
from smelter.errors import Refused
from smelter.lake.home import Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS
from smelter.lake.letter_status import Outcome, Status
from smelter.records import Limits, Problem

_NOTHING = "nothing was changed; the letter is open as before"


@dataclass(frozen=True)
class Edited:
    """A letter that is in bronze now, as somebody corrected it."""

    dataset: str
    id: str
    run: str
    contract: str


def text_to_edit(lake: Lake, dataset: str, letter: str) -> bytes:
    """The bytes of an open letter that holds its record; any other is refused."""
    with Letters(lake, dataset) as letters:
        return texts_of(_editable(letters, dataset, letter))[0]


def edit(
    lake: Lake,
    dataset: str,
    letter: str,
    corrected: bytes,
    limits: Limits,
    because: str = "",
    hooks: Hooks = NO_HOOKS,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Edited:
    """Judge the corrected text and bring it home under the letter's identity; one that is not good changes nothing.

    Safe to kill and to repeat, as a replay is: an edited letter is open no more.
    """
    with running(lake, dataset, limits, f"smelt dlq edit {letter}", hooks, wait_seconds) as runs:
        with Letters(lake, dataset) as letters:
            found = _editable(letters, dataset, letter)
        work = runs.new("edit")
        desk = Desk(work)
        arrived: Any = np.array(found.column("_arrived_at").cast(pa.int64()).to_pylist(), np.int64)
        verdicts = desk.judge.judge_records([corrected], arrived)
        if verdicts.bad:
            raise _not_good(letter, verdicts.bad[0], runs.contract.label)
        desk.write_rows(verdicts.fields, found)
        texts = {
            "raw": pa.array([corrected.decode()], pa.string()),
            "raw_bytes": pa.array([corrected], pa.binary()),
            "because": pa.array([because or None], pa.string()),
        }
        desk.resolve(found.select(IDENTITY), Outcome.EDITED, **texts)
        runs.commit(work, desk.resolutions.finish(), bronze=desk.bronze.finish())
        return Edited(dataset, letter, work.token, runs.contract.label)


def _editable(letters: Letters, dataset: str, letter: str) -> pa.RecordBatch:
    rows = letters.ask(f"select {', '.join(JUDGED)}, status", Filters(id=letter, status=None)).arrow()
    if not rows.num_rows:
        raise Refused(f"{dataset} has no letter {letter}", data=_NOTHING, next_step=f"smelt dlq ls {dataset}")
    (found,) = rows.to_batches()
    status, reason = found.column("status")[0].as_py(), found.column("reason")[0].as_py()
    if status != Status.OPEN:
        raise Refused(
            f"the letter {letter} is {status}",
            data="nothing was changed",
            next_step=f"smelt dlq show {letter} tells its history; smelt dlq undo RUN opens it again",
        )
    if reason in FROM_FILES:
        raise Refused(
            f"the letter {letter} is about its file ({reason}), and holds no record that could be corrected",
            data=_NOTHING,
            next_step=f"mend the file, then: smelt dlq replay {dataset} --reason {reason}",
        )
    return found


def _not_good(letter: str, problems: tuple[Problem, ...], contract: str) -> Refused:
    said = "\n  ".join(problem.message for problem in problems)
    return Refused(
        f"the corrected text is not good either:\n  {said}",
        where=f"letter {letter}, judged under {contract}",
        data=_NOTHING,
        next_step="correct it and run it again",
    )
