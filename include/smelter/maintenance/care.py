"""Tables are looked after: plan says what they need, run does it, one table at a time and one step after the other.

Safe to kill and to repeat: every step is, and the next run looks at each table as it is then. A table that fails harms
no other.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from smelter.errors import SmelterError
from smelter.lake.home import OPS, Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, Held, lease
from smelter.lake.spark_errors import spark_errors
from smelter.maintenance import compact, expire, manifests, orphans, rows
from smelter.maintenance.engine import Engine, NoSession
from smelter.maintenance.faults import faults_of
from smelter.maintenance.holds import standing_of
from smelter.maintenance.journal import (
    DONE,
    FAILED,
    JOURNAL,
    PLANNED,
    POSTPONED,
    Entry,
    StepDone,
    record,
    tables_aside,
)
from smelter.maintenance.steps import Look, Step, Todo, Tools, View
from smelter.maintenance.subjects import Subject, with_consumers
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
_SPARKS = frozenset({Step.COMPACT, Step.EXPIRE, Step.MANIFESTS})  # what is done by Spark


@dataclass(frozen=True)
class TableReport:
    """One table: what it needs or what was done, what is not touched and why."""

    table: str
    outcome: str  # nothing, planned, done, failed, postponed, set_aside
    steps: tuple[StepDone, ...] = ()
    kept: tuple[str, ...] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    survey: dict[str, Any] = field(default_factory=dict)  # of a plan: partitions, age, newest batch, consumers
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
    aside = tables_aside(lake)
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
    aside = tables_aside(lake)
    for subject in subjects:
        found = _planned(lake, subject, wishes, aside)
        if found.outcome == PLANNED:
            hooks.say(f"{subject}: {'; '.join(one.said for one in found.steps)}")
            needs_session = any(one.step in _SPARKS for one in found.steps)
            found = _Care(lake, subject, engine, name, wishes, hooks).give(needs_session=needs_session)
        elif found.outcome == FAILED:
            _write_down(lake, _entry(name, found, 0.0), hooks)
        yield found


def _planned(lake: Lake, subject: Subject, wishes: Wishes, aside: dict[str, str]) -> TableReport:
    if str(subject) in aside:
        return TableReport(str(subject), SET_ASIDE, why_aside=aside[str(subject)])
    try:
        with faults_of(str(subject), "smelt doctor"):
            view = View(lake, subject, subject.open(lake), wishes.now or datetime.now(UTC))
            looks = [_LOOKS[step](view) for step in _LOOKS if step in wishes.steps]
            numbers = view.survey.numbers()
            about = {"partitions": view.survey.by_partition(), **standing_of(view.table.metadata, subject)}
    except SmelterError as problem:
        return TableReport(str(subject), FAILED, problem=problem)
    todos = [look.todo for look in looks if look.todo is not None]
    return TableReport(
        str(subject),
        PLANNED if todos else NOTHING,
        tuple(_step_of(todo, PLANNED) for todo in todos),
        tuple(line for look in looks for line in look.kept),
        numbers,
        about,
    )


class _Care:
    """One table that needs something."""

    def __init__(self, lake: Lake, subject: Subject, engine: Engine, name: str, wishes: Wishes, hooks: Hooks) -> None:
        self._lake, self._subject, self._engine, self._name = lake, subject, engine, name
        self._wishes, self._hooks = wishes, hooks
        self._steps: list[StepDone] = []
        self._kept: list[str] = []

    def give(self, *, needs_session: bool) -> TableReport:
        """Every step that is needed, under the table's lease; the first that fails is the last."""
        started = time.monotonic()
        problem, numbers = None, {}
        try:
            with faults_of(str(self._subject), "smelt doctor"):
                if needs_session:
                    self._engine.reserve()
                self._work()
                numbers = self._numbers()
        except SmelterError as found:
            problem = found
        report = TableReport(
            str(self._subject),
            DONE if problem is None else _outcome(problem),
            tuple(self._steps),
            tuple(dict.fromkeys(self._kept)),
            numbers,
            problem=problem,
        )
        _write_down(self._lake, _entry(self._name, report, time.monotonic() - started), self._hooks)
        return report

    def _work(self) -> None:
        subject, what = self._subject, f"smelt maintain, {self._name}"
        with lease(
            self._lake, subject.namespace, subject.name, what, self._wishes.wait_seconds, self._hooks.say
        ) as held:
            engine, subject = self._engine, with_consumers(self._lake, subject)
            session = cache(lambda: engine.session(held.share_with))  # should it die, it dies at this table
            tools = Tools(self._name, session, engine.log, self._hooks.reach)
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
            with (
                faults_of(name, f"smelt maintain run {name}"),
                spark_errors(name, self._engine.log, data, f"smelt maintain run {name}"),
            ):
                done = todo.act(tools)
        except SmelterError as problem:
            seconds = time.monotonic() - started
            self._steps.append(_step_of(todo, _outcome(problem), problem.what, seconds, after={}))
            raise
        seconds, numbers = time.monotonic() - started, self._numbers()
        after = {key: numbers.get(key, expected) for key, expected in todo.after.items()}
        self._steps.append(_step_of(todo, DONE, done.said, seconds, done.bytes_freed, after))

    def _numbers(self) -> dict[str, int]:
        return survey(self._subject.open(self._lake), self._subject).numbers()


def _outcome(problem: SmelterError) -> str:
    """Who waited for somebody else in vain, or had no session, has found no fault with the table."""
    return POSTPONED if isinstance(problem, Held | NoSession) else FAILED


def _step_of(
    todo: Todo,
    outcome: str,
    said: str = "",
    seconds: float = 0.0,
    freed: int = 0,
    after: Mapping[str, int] | None = None,
) -> StepDone:
    """`after` is what was found then; of a plan, what is expected."""
    found = todo.after if after is None else after
    return StepDone(todo.step, outcome, todo.why, said or todo.said, seconds, freed, todo.before, found)


def _write_down(lake: Lake, entry: Entry, hooks: Hooks) -> None:
    """A journal that cannot be written takes nothing back, and keeps no other table from its turn."""
    try:
        with faults_of(f"{OPS}.{JOURNAL}", "smelt doctor"):
            record(lake, entry)
    except SmelterError as problem:
        hooks.say(f"what was done to {entry.table} could not be written down: {problem}")


def _entry(run: str, report: TableReport, seconds: float) -> Entry:
    problem = None if report.problem is None else report.problem.what
    freed = sum(one.bytes_freed for one in report.steps)
    return Entry(
        run, report.table, datetime.now(UTC), report.outcome, seconds, problem, freed, report.steps, report.kept
    )
