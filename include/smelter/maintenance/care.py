"""Tables are looked after: plan says what they need, run does it, one table at a time and one step after the other.

Safe to kill and to repeat: every step is, and the next run looks at each table as it is then. A table that fails harms
no other.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from smelter.errors import SmelterError
from smelter.lake.home import Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, Held, lease
from smelter.lake.spark_errors import spark_errors
from smelter.maintenance import compact, expire, manifests, orphans, rows
from smelter.maintenance.engine import Engine
from smelter.maintenance.journal import BUSY, DONE, FAILED, PLANNED, Entry, StepDone, history, record, set_aside
from smelter.maintenance.steps import Look, Step, Todo, Tools, View
from smelter.maintenance.subjects import Subject
from smelter.maintenance.survey import survey

ALL_STEPS = frozenset(Step)
NOTHING, SET_ASIDE = "nothing", "set_aside"
_LOOKS: dict[Step, Callable[[View], Look]] = {
    Step.ROWS: rows.look,
    Step.COMPACT: compact.look,
    Step.EXPIRE: expire.look,
    Step.MANIFESTS: manifests.look,
    Step.ORPHANS: orphans.look,
}


@dataclass(frozen=True)
class TableReport:
    """One table: what it needs or what was done, what is not touched and why."""

    table: str
    outcome: str  # nothing, planned, done, failed, busy, set_aside
    steps: tuple[StepDone, ...] = ()
    kept: tuple[str, ...] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    problem: SmelterError | None = None
    why_aside: str = ""


@dataclass(frozen=True)
class Wishes:
    """What the person who runs it wants."""

    steps: Collection[Step] = ALL_STEPS
    wait_seconds: float = DEFAULT_WAIT_SECONDS
    now: datetime | None = None  # for those who want to know what time will bring


@dataclass(frozen=True)
class Hooks:
    """Who is told what happens."""

    say: Callable[[str], None] = lambda _line: None
    reach: Callable[[str], None] = lambda _point: None  # named points, for those who break things there


_NO_WISHES, _NO_HOOKS = Wishes(), Hooks()


def new_run(now: datetime) -> str:
    """The name of a run, which nothing else has."""
    return f"maintain:{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def plan(lake: Lake, subjects: Sequence[Subject], wishes: Wishes = _NO_WISHES) -> Iterator[TableReport]:
    """What each table needs; changes nothing and starts no JVM."""
    aside = set_aside(history(lake))
    for subject in subjects:
        yield _planned(lake, subject, wishes, aside)


def run(
    lake: Lake,
    subjects: Sequence[Subject],
    engine: Engine,
    name: str,
    wishes: Wishes = _NO_WISHES,
    hooks: Hooks = _NO_HOOKS,
) -> Iterator[TableReport]:
    """Give each table what it needs. The engine's JVM is started by the first step that needs one."""
    aside = set_aside(history(lake))
    for subject in subjects:
        found = _planned(lake, subject, wishes, aside)
        if found.outcome == PLANNED:
            hooks.say(f"{subject}: {'; '.join(one.said for one in found.steps)}")
            found = _Care(lake, subject, engine, name, wishes, hooks).give()
        elif found.outcome == FAILED:
            record(lake, _entry(name, found, 0.0))
        yield found


def _planned(lake: Lake, subject: Subject, wishes: Wishes, aside: dict[str, str]) -> TableReport:
    if str(subject) in aside:
        return TableReport(str(subject), SET_ASIDE, why_aside=aside[str(subject)])
    try:
        view = View(lake, subject, subject.open(lake), wishes.now or datetime.now(UTC))
        looks = [_LOOKS[step](view) for step in _LOOKS if step in wishes.steps]
    except SmelterError as problem:
        return TableReport(str(subject), FAILED, problem=problem)
    todos = [look.todo for look in looks if look.todo is not None]
    return TableReport(
        str(subject),
        PLANNED if todos else NOTHING,
        tuple(_step_of(todo, PLANNED) for todo in todos),
        tuple(line for look in looks for line in look.kept),
        view.survey.numbers(),
    )


class _Care:
    """One table that needs something."""

    def __init__(self, lake: Lake, subject: Subject, engine: Engine, name: str, wishes: Wishes, hooks: Hooks) -> None:
        self._lake, self._subject, self._engine, self._name = lake, subject, engine, name
        self._wishes, self._hooks = wishes, hooks
        self._steps: list[StepDone] = []
        self._kept: list[str] = []

    def give(self) -> TableReport:
        """Every step that is needed, under the table's lease; the first that fails is the last."""
        started = time.monotonic()
        problem = None
        try:
            self._work()
        except SmelterError as found:
            problem = found
        report = TableReport(
            str(self._subject),
            DONE if problem is None else _outcome(problem),
            tuple(self._steps),
            tuple(dict.fromkeys(self._kept)),
            self._numbers() if problem is None else {},
            problem,
        )
        record(self._lake, _entry(self._name, report, time.monotonic() - started))
        return report

    def _work(self) -> None:
        subject, what = self._subject, f"smelt maintain, {self._name}"
        with lease(
            self._lake, subject.namespace, subject.name, what, self._wishes.wait_seconds, self._hooks.say
        ) as held:
            engine = self._engine
            tools = Tools(self._name, lambda: engine.session(held.share_with), engine.log, self._hooks.reach)
            for step, look in _LOOKS.items():
                if step in self._wishes.steps:
                    view = View(self._lake, subject, subject.open(self._lake), self._wishes.now or datetime.now(UTC))
                    found = look(view)
                    self._kept += found.kept
                    if found.todo is not None:
                        self._act(found.todo, tools)

    def _act(self, todo: Todo, tools: Tools) -> None:
        started, name = time.monotonic(), str(self._subject)
        data = f"{name} has the rows that it had; what was committed before stays, and the next run goes on"
        try:
            with spark_errors(name, self._engine.log, data, f"smelt maintain run {name}"):
                done = todo.act(tools)
        except SmelterError as problem:
            self._steps.append(_step_of(todo, _outcome(problem), problem.what, time.monotonic() - started))
            raise
        self._steps.append(_step_of(todo, DONE, done.said, time.monotonic() - started, done.bytes_freed))

    def _numbers(self) -> dict[str, int]:
        return survey(self._subject.open(self._lake), self._subject).numbers()


def _outcome(problem: SmelterError) -> str:
    """Who waited for somebody else in vain has found no fault with the table."""
    return BUSY if isinstance(problem, Held) else FAILED


def _step_of(todo: Todo, outcome: str, said: str = "", seconds: float = 0.0, freed: int = 0) -> StepDone:
    return StepDone(todo.step, outcome, todo.why, said or todo.said, seconds, freed, todo.before, todo.after)


def _entry(run: str, report: TableReport, seconds: float) -> Entry:
    problem = None if report.problem is None else report.problem.what
    freed = sum(one.bytes_freed for one in report.steps)
    return Entry(
        run, report.table, datetime.now(UTC), report.outcome, seconds, problem, freed, report.steps, report.kept
    )
