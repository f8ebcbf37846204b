"""Rounds: which fault comes when, what became of it, and how to do it again."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from smelter.errors import Unreachable
from smelter.prove.account import MOST_NAMED, Account
from smelter.prove.disks import NotRun
from smelter.prove.ground import Ground, Interrupted
from smelter.prove.points import POINTS, Point
from smelter.prove.scene import Scene

_NOTHING = Account(0, 0, 0, 0, (), (), (), ())


class State(StrEnum):
    """How a round ended."""

    HELD = "held"
    FAILED = "FAILED"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Round:
    """One fault on one dataset. Everything that is left to chance follows from its point and its seed."""

    number: int
    point: Point
    seed: int

    @property
    def dataset(self) -> str:
        """Its name in the lake."""
        return f"r{self.number:05}_{self.point.name}"

    @property
    def command(self) -> str:
        """The command that does the same again."""
        return f"smelt prove --only {self.point.name} --seed {self.seed} --rounds 1"


@dataclass(frozen=True)
class Outcome:
    """What became of a round."""

    round: Round
    state: State
    account: Account
    seconds: float
    why: tuple[str, ...] = ()


def schedule(count: int | None, seed: int, only: Point | None) -> list[Round]:
    """Every point in turn, over and over; without a count, each once. Round k has the seed S + k - 1."""
    points = (only,) if only else POINTS
    turns = itertools.islice(itertools.cycle(points), count or len(points))
    return [Round(number, point, seed + number - 1) for number, point in enumerate(turns, start=1)]


def prove(ground: Ground, rounds: Sequence[Round], *, keep: bool = False) -> Iterator[Outcome]:
    """Do the rounds; what is left of one that held is removed, unless it is kept."""
    assert ground.spark is not None  # a machine on which Spark does not start is told before the first round
    for struck_at_once in _groups(rounds):
        for outcome in _strike(ground, struck_at_once):
            if outcome.state is not State.FAILED and not keep:
                ground.forget(outcome.round.dataset)
            yield outcome
            if outcome.state is State.FAILED and not ground.is_alive:
                raise Unreachable(
                    "the JVM of the proof itself is gone", where=str(ground.folder), next_step="smelt doctor"
                )


def _groups(rounds: Sequence[Round]) -> Iterator[list[Round]]:
    """Neighbours that can be struck at once; no group has a point twice."""
    group: list[Round] = []
    for one in rounds:
        fits = group and one.point.together and one.point.strike is group[-1].point.strike
        if group and (not fits or one.point in [other.point for other in group]):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _strike(ground: Ground, rounds: Sequence[Round]) -> Iterator[Outcome]:
    """Strike the group, then restart and account each of its rounds."""
    started = time.monotonic()
    scenes = [Scene(ground, one.dataset, one.point.name, one.seed) for one in rounds]
    failure = _tried(lambda: rounds[0].point.strike(scenes))
    for one, scene in zip(rounds, scenes, strict=True):
        yield _outcome(one, scene, failure, started)
        started = time.monotonic()


def _outcome(one: Round, scene: Scene, failure: Exception | None, started: float) -> Outcome:
    ground = scene.ground
    ground.go_on()
    if isinstance(failure, NotRun):
        return Outcome(one, State.NOT_RUN, _NOTHING, time.monotonic() - started, (str(failure),))
    failure = failure or _tried(scene.restart)
    account = _NOTHING
    if failure is None:
        accounts: list[Account] = []
        failure = _tried(lambda: accounts.append(scene.account()))
        account = accounts[0] if accounts else _NOTHING
    ground.go_on()
    why = _why(account, failure)
    return Outcome(one, State.FAILED if why else State.HELD, account, time.monotonic() - started, why)


def _why(account: Account, failure: Exception | None) -> tuple[str, ...]:
    """Everything that is wrong, by name, up to a number."""
    words = [f"{type(failure).__name__}: {failure}"] if failure is not None else []
    for what in ("lost", "doubled", "unexplained"):
        found = getattr(account, what)
        words += [f"{what}: {source}:{position}" for source, position in found[:MOST_NAMED]]
        if len(found) > MOST_NAMED:
            words.append(f"{what}: {len(found) - MOST_NAMED} more")
    return (*words, *account.wrong)


def _tried(act: Callable[[], None]) -> Exception | None:
    """A round that fails in any way has failed, and the next one goes on."""
    try:
        act()
    except Interrupted:
        raise
    except Exception as problem:
        return problem
    return None
