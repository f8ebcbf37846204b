"""What a task does with letters: each is judged, and becomes a row of bronze or one more attempt.

Safe to kill and to repeat: what it writes is in no table until the run commits it.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from smelter.bronze.work import Trouble, judge_of
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters, Share
from smelter.lake.data_files import DataFileWriter, TableShape
from smelter.lake.home import Lake
from smelter.lake.letter_status import Outcome
from smelter.lake.written import WrittenFile
from smelter.records import Judge, Limits, Problem, Verdicts, errors_to_arrow, reason_of

IDENTITY = ("_id", "_source", "_position")


@dataclass(frozen=True)
class Work:
    """What a task must know; it travels to the task whole."""

    token: str
    action: str
    moment: datetime
    who: str
    contract: str
    limits: Limits
    bronze: TableShape
    resolutions: TableShape
    notes_failures: bool = True  # a letter that fails again gets one more attempt
    reach: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Task:
    """A share of the letters that are meant, and what becomes of them; it travels to another process whole."""

    work: Work
    lake: Lake
    dataset: str
    filters: Filters
    share: Share


class Replayed(msgspec.Struct, frozen=True):
    """What a task brings back: numbers and data files, never a row."""

    passed: dict[str, int] = {}  # reason that letters had, to how many
    failed: dict[str, int] = {}  # reason that letters have now, to how many
    bronze: list[WrittenFile] = []
    resolutions: list[WrittenFile] = []
    trouble: Trouble | None = None


def do_share(task: Task) -> Replayed:
    """Ask for the letters of the share, here where they are judged."""
    with Letters(task.lake, task.dataset) as letters:
        return do(task.work, letters.whole(task.filters, task.share))


def do(work: Work, letters: Iterable[pa.RecordBatch]) -> Replayed:
    """Judge every letter and write what becomes of it; trouble with writing takes back what was written."""
    desk = Desk(work)
    try:
        for batch in letters:
            desk.take_in(batch)
            if work.reach is not None:
                work.reach("task_writing")
        return Replayed(dict(desk.passed), dict(desk.failed), desk.bronze.finish(), desk.resolutions.finish())
    except OSError as problem:
        desk.discard()
        return Replayed(trouble=trouble_of(problem, work))


def trouble_of(problem: OSError, work: Work) -> Trouble:
    """Why something could not be written."""
    where = str(problem.filename or work.bronze.location)
    return Trouble(problem.errno or errno.EIO, problem.strerror or str(problem), where)


class Desk:
    """One task at work."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.judge = judge_of(work.contract, work.limits)
        self.bronze, self.resolutions = DataFileWriter(work.bronze), DataFileWriter(work.resolutions)
        self.stamps = {  # what only the run knows
            "_ingested_at": pa.scalar(work.moment, pa.timestamp("us", "UTC")),
            "_batch": pa.scalar(work.token),
            "_contract": pa.scalar(self.judge.contract.label),
        }
        self.passed: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    def take_in(self, letters: pa.RecordBatch) -> None:
        """Letters that hold their record."""
        found = judged(self.judge, letters)
        home = letters.take(pa.array(found.good)) if found.bad else letters
        self.passed.update(home.column("reason").to_pylist())
        self.write_rows(found.fields, home)
        self.resolve(home.select(IDENTITY), Outcome.REPLAYED)
        if found.bad:
            places = np.fromiter(found.bad, np.int64, len(found.bad))
            self.fail(letters.take(pa.array(places)).select(IDENTITY), list(found.bad.values()))

    def discard(self) -> None:
        """Take everything back that was written."""
        self.bronze.discard()
        self.resolutions.discard()

    def write_rows(self, fields: pa.RecordBatch, letters: pa.RecordBatch) -> None:
        """Good records become rows of bronze under the identity that they always had."""
        identity = ("_source", "_position", "_arrived_at")
        arrays = [*fields.columns, *(letters.column(name) for name in identity)]
        rows = pa.RecordBatch.from_arrays(arrays, names=[*fields.schema.names, *identity])
        self.bronze.add(self._work.bronze.conform(rows, self.stamps))

    def fail(
        self,
        identities: pa.RecordBatch,
        problems: Sequence[tuple[Problem, ...]],
        *,
        is_news: bool = False,
        **texts: pa.Array,
    ) -> None:
        """One more attempt, and what is wrong now; `texts` are of records that their letters did not hold.

        What is news is noted also by a run that notes no failures: something was brought with it.
        """
        reasons = [str(reason_of(one)) for one in problems]
        self.failed.update(reasons)
        if self._work.notes_failures or is_news:
            found = {"reason": pa.array(reasons, pa.string()), "errors": errors_to_arrow(problems), **texts}
            self.resolve(identities, Outcome.FAILED, **found)

    def resolve(self, identities: pa.RecordBatch, outcome: Outcome, **more: pa.Array) -> None:
        """Write down what became of letters."""
        arrays = [*identities.columns, *more.values()]
        rows = pa.RecordBatch.from_arrays(arrays, names=[*identities.schema.names, *more])
        self.resolutions.add(self._work.resolutions.conform(rows, self._same(outcome)))

    def _same(self, outcome: Outcome) -> dict[str, pa.Scalar]:
        work, contract = self._work, self.judge.contract
        texts = {
            "dataset": contract.dataset,
            "action": work.action,
            "run": work.token,
            "contract": contract.label,
            "outcome": str(outcome),
            "who": work.who,
        }
        moment = pa.scalar(work.moment, pa.timestamp("us", "UTC"))
        return {"resolved_at": moment, **{name: pa.scalar(text) for name, text in texts.items()}}


def judged(judge: Judge, letters: pa.RecordBatch) -> Verdicts:
    """The verdicts on letters that hold their record; each has the arrival that it always had."""
    arrivals = letters.column("_arrived_at").cast(pa.int64()).to_numpy()
    return judge.judge_records(texts_of(letters), arrivals)


def texts_of(letters: pa.RecordBatch) -> list[bytes]:
    """The records' own bytes."""
    texts: list[bytes] = letters.column("raw").cast(pa.binary()).to_pylist()
    exact: list[Any] = (
        letters.column("raw_bytes").to_pylist() if letters.column("raw_bytes").null_count < len(texts) else []
    )
    return [text if kept is None else kept for text, kept in zip(texts, exact, strict=True)] if exact else texts
