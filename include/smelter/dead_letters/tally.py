"""What would become of letters under a contract? Thousands at a time, counted, and nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import msgspec
import pyarrow as pa

from smelter.bronze.work import judge_of
from smelter.contracts.observe import Seen
from smelter.dead_letters.work import judged, texts_of
from smelter.records import Limits, Problem, reason_of

_IN_FLIGHT = 4  # batches that wait for a process, so that the reader is never far ahead
_LOOKED_AT = 1000  # records of a batch whose unknown fields are looked at closely
_MOST_VALUES = 20
Key = tuple[str, str, str]  # reason, field, rule


@dataclass
class Failing:
    """Letters that fail in the same way."""

    letters: int = 0
    message: str = ""  # of one of them
    example: str = ""  # its id
    values: Counter[str] = field(default_factory=Counter)  # what was found there, as far as it is worth keeping

    def add(self, problem: Problem, letter: str) -> None:
        """One more letter."""
        self.letters += 1
        self.message, self.example = self.message or problem.message, self.example or letter
        if problem.found in self.values or len(self.values) <= _MOST_VALUES:
            self.values[problem.found] += 1

    def merge(self, other: Failing) -> None:
        """What somebody else counted."""
        self.letters += other.letters
        self.message, self.example = self.message or other.message, self.example or other.example
        self.values.update(other.values)


@dataclass
class Tally:
    """What was found out about letters."""

    passing: Counter[str] = field(default_factory=Counter)  # by the reason that they have
    failing: dict[Key, Failing] = field(default_factory=dict)  # a letter may fail in several ways
    reasons: Counter[str] = field(default_factory=Counter)  # of those that fail, by the reason that they would have
    mended: Counter[frozenset[Key]] = field(default_factory=Counter)  # all that is wrong with letters which another
    # contract would take, to how many they are
    unknown: dict[str, Seen] = field(default_factory=dict)  # what is in fields that the contract does not know

    def merge(self, other: Tally) -> None:
        """What somebody else found out."""
        self.passing.update(other.passing)
        self.reasons.update(other.reasons)
        self.mended.update(other.mended)
        for key, one in other.failing.items():
            self.failing.setdefault(key, Failing()).merge(one)
        for name, seen in other.unknown.items():
            self.unknown.setdefault(name, Seen()).merge(seen)


@dataclass(frozen=True)
class Question:
    """Under which contract letters are judged; and which other one might take those that fail."""

    contract: str
    limits: Limits
    instead: str | None = None
    looks_closely: bool = False  # at unknown fields


def tally_of(question: Question, batches: Iterable[pa.RecordBatch], *, processes: int = 0) -> Tally:
    """Judge all letters, here or in several processes."""
    found = Tally()
    with _counting(processes) as count:
        for one in count(question, batches):
            found.merge(one)
    return found


def count(question: Question, letters: pa.RecordBatch) -> Tally:
    """One batch."""
    judge = judge_of(question.contract, question.limits)
    verdicts, found = judged(judge, letters), Tally()
    reasons, names = letters.column("reason").to_pylist(), letters.column("_id").to_pylist()
    found.passing.update(reasons[place] for place in verdicts.good.tolist())
    for place, problems in verdicts.bad.items():
        found.reasons[str(reason_of(problems))] += 1
        for key, problem in {_key(problem): problem for problem in problems}.items():
            found.failing.setdefault(key, Failing()).add(problem, names[place])
    if verdicts.bad and question.instead is not None:
        _try_instead(question, letters, verdicts.bad, found)
    if verdicts.bad and question.looks_closely:
        _look_closely(question, letters, list(verdicts.bad), found)
    return found


def _key(problem: Problem) -> Key:
    return str(problem.reason), problem.field, problem.rule


def _try_instead(
    question: Question, letters: pa.RecordBatch, bad: dict[int, tuple[Problem, ...]], found: Tally
) -> None:
    places = list(bad)
    again = judged(judge_of(question.instead or "", question.limits), letters.take(pa.array(places)))
    for place in again.good.tolist():
        found.mended[frozenset(map(_key, bad[places[place]]))] += 1


def _look_closely(question: Question, letters: pa.RecordBatch, places: list[int], found: Tally) -> None:
    """What stands in unknown fields of the record itself, from which their type is guessed."""
    known = set(judge_of(question.contract, question.limits).contract.source_names.values())
    for text in texts_of(letters.take(pa.array(places[:_LOOKED_AT]))):
        try:
            record: Any = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        for name in record.keys() - known if isinstance(record, dict) else ():
            found.unknown.setdefault(name, Seen()).add(record[name])


@contextmanager
def _counting(processes: int) -> Iterator[Any]:
    if processes < 2:
        yield lambda question, batches: (count(question, batch) for batch in batches)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield lambda question, batches: _in_pool(pool, question, batches)


def _in_pool(pool: ProcessPoolExecutor, question: Question, batches: Iterable[pa.RecordBatch]) -> Iterator[Tally]:
    waiting: list[Future[Tally]] = []
    for batch in batches:
        waiting.append(pool.submit(count, question, batch))
        if len(waiting) > _IN_FLIGHT:
            yield waiting.pop(0).result()
    for one in waiting:
        yield one.result()
