"""What would become of letters under a contract? Thousands at a time, counted, and nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from smelter.bronze.work import judge_of
from smelter.contracts.observe import Seen
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters, Share
from smelter.dead_letters.work import judged, texts_of
from smelter.lake.home import Lake
from smelter.records import Limits, Problem, reason_of

_MOST_KINDS = 20_000  # ways to fail that are told apart, of records with names that are all different
Key = tuple[str, str, str]  # reason, field, rule
Kind = tuple[Key, ...]  # all that is wrong with a letter


@dataclass
class Failing:
    """Letters that fail in one way, perhaps among others."""

    letters: int = 0
    message: str = ""  # of one of them
    example: str = ""  # its id


@dataclass
class Tally:
    """What was found out about letters."""

    passing: Counter[str] = field(default_factory=Counter)  # by the reason that they have
    kinds: Counter[Kind] = field(default_factory=Counter)  # of those that fail
    mended: Counter[frozenset[Key]] = field(default_factory=Counter)  # of those that another contract would take
    examples: dict[Kind, tuple[str, tuple[Problem, ...]]] = field(default_factory=dict)  # a letter's id and problems

    def merge(self, other: Tally) -> None:
        """What somebody else found out."""
        self.passing.update(other.passing)
        self.kinds.update(other.kinds)
        self.mended.update(other.mended)
        self.examples = {**other.examples, **self.examples}

    def fail(self, letter: str, problems: tuple[Problem, ...]) -> Kind:
        """One letter that fails; says of which kind it is."""
        kind = tuple([(problem.reason, problem.field, problem.rule) for problem in problems])
        if kind not in self.kinds and len(self.kinds) >= _MOST_KINDS:
            kind = tuple((reason, "…", rule) for reason, _field, rule in kind)
        self.kinds[kind] += 1
        if kind not in self.examples:
            self.examples[kind] = letter, problems
        return kind

    @property
    def reasons(self) -> Counter[str]:
        """Letters that fail, by the reason that they would have."""
        found: Counter[str] = Counter()
        for kind, letters in self.kinds.items():
            found[str(reason_of(self.examples[kind][1]))] += letters
        return found

    @property
    def failing(self) -> dict[Key, Failing]:
        """Each way to fail with its letters; the most frequent first."""
        found: dict[Key, Failing] = {}
        for kind, letters in self.kinds.most_common():
            letter, problems = self.examples[kind]
            for key, problem in dict(zip(kind, problems, strict=True)).items():
                one = found.setdefault(key, Failing(0, problem.message, letter))
                one.letters += letters
        return dict(sorted(found.items(), key=lambda item: -item[1].letters))


@dataclass(frozen=True)
class Question:
    """Under which contract letters are judged; and which other one might take those that fail."""

    contract: str
    limits: Limits
    instead: str | None = None


@dataclass(frozen=True)
class Task:
    """A share of the letters that are meant; it travels to another process whole."""

    question: Question
    lake: Lake
    dataset: str
    filters: Filters
    share: Share


def tally_share(task: Task) -> Tally:
    """Ask for the letters of a share, here where they are judged."""
    with Letters(task.lake, task.dataset) as letters:
        return tally_of(task.question, letters.whole(task.filters, task.share))


def tally_of(question: Question, batches: Iterable[pa.RecordBatch]) -> Tally:
    """Judge letters batch after batch."""
    found, judge = Tally(), judge_of(question.contract, question.limits)
    for letters in batches:
        verdicts = judged(judge, letters)
        reasons, names = letters.column("reason"), letters.column("_id")
        found.passing.update(reasons.take(pa.array(verdicts.good)).to_pylist() if verdicts.bad else reasons.to_pylist())
        kinds = {place: found.fail(names[place].as_py(), problems) for place, problems in verdicts.bad.items()}
        if kinds and question.instead is not None:
            places = list(kinds)
            again = judged(judge_of(question.instead, question.limits), letters.take(pa.array(places)))
            found.mended.update(Counter(frozenset(kinds[places[place]]) for place in again.good.tolist()))
    return found


@dataclass
class Sample:
    """Some letters of each kind, looked at closely: what is in fields that the contract does not know or not allow."""

    tally: Tally
    unknown: dict[str, Seen] = field(default_factory=dict)
    values: dict[Key, set[str]] = field(default_factory=dict)  # what was found, as the judge tells it


def sample_of(question: Question, letters: pa.RecordBatch) -> Sample:
    """Judge a few letters, and look at what they hold."""
    judge, tally = judge_of(question.contract, question.limits), Tally()
    verdicts, found = judged(judge, letters), Sample(tally)
    known = set(judge.contract.source_names.values())
    texts, names = texts_of(letters), letters.column("_id").to_pylist()
    for place, problems in verdicts.bad.items():
        tally.fail(names[place], problems)
        for problem in problems:
            key = (problem.reason, problem.field, problem.rule)
            found.values.setdefault(key, set()).add(problem.found)
        record = _record(texts[place])
        for name in record.keys() - known:
            found.unknown.setdefault(name, Seen()).add(record[name])
    return found


def _record(text: bytes) -> dict[str, Any]:
    try:
        record = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
