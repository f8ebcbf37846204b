"""A proof from beginning to end: rounds in a thread of their own, so that Ctrl-C and SIGTERM end it in order."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from smelter.prove.ground import Ground, Interrupted
from smelter.prove.rounds import Outcome, Round, State, prove
from smelter.settings import Settings

_POLL_SECONDS = 0.2
_SAME_SIGNAL_SECONDS = 1.0  # `timeout` signals its child and then the whole group: that is one wish, not two


@dataclass
class Proof:
    """What was done, and the folder that was kept, if any was."""

    seed: int
    asked: int
    outcomes: list[Outcome] = field(default_factory=list)
    kept: Path | None = None
    was_interrupted: bool = False

    def of(self, state: State) -> list[Outcome]:
        """The rounds that ended so."""
        return [one for one in self.outcomes if one.state is state]

    def total(self, what: str) -> int:
        """How many records of all rounds are lost, doubled or unexplained."""
        return sum(len(getattr(one.account, what)) for one in self.outcomes)

    @property
    def sentence(self) -> str:
        """The last line."""
        rounds = f"{len(self.outcomes)} rounds" if len(self.outcomes) != 1 else "1 round"
        counts = [f"{len(self.of(state))} {state}" for state in (State.FAILED, State.NOT_RUN) if self.of(state)]
        of_them = f" ({', '.join(counts)})" if counts else ""
        return f"{rounds}{of_them}: {self.total('lost')} lost, {self.total('doubled')} doubled"


@dataclass(frozen=True)
class Tally:
    """All rounds of one point."""

    point: str
    rounds: int
    files: int
    records: int
    bronze: int
    dead_letters: int
    lost: int
    doubled: int
    unexplained: int
    outcome: str


def tallies(proof: Proof) -> list[Tally]:
    """One line per point, in the order of the run."""
    names = dict.fromkeys(one.round.point.name for one in proof.outcomes)
    return [_tally(name, [one for one in proof.outcomes if one.round.point.name == name]) for name in names]


def run_proof(settings: Settings, rounds: Sequence[Round], *, keep: bool, tell: Callable[[Outcome], None]) -> Proof:
    """Do the rounds on a scratch lake; it is removed at the end, unless a round failed or it is to be kept."""
    proof, ground = Proof(rounds[0].seed, len(rounds)), Ground.new(settings)
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for outcome in prove(ground, rounds, keep=keep):
                proof.outcomes.append(outcome)
                tell(outcome)
        except Interrupted:
            proof.was_interrupted = True
        except BaseException as problem:
            problems.append(problem)
        finally:
            must_be_kept = keep or bool(proof.of(State.FAILED))
            ground.leave(keep=must_be_kept)
            proof.kept = ground.folder if must_be_kept else None

    with _stopped_by_signals(ground.over):
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_POLL_SECONDS)
    if problems:
        raise problems[0]
    return proof


@contextmanager
def _stopped_by_signals(over: threading.Event) -> Iterator[None]:
    """The first signal ends the proof in order, the second at once; children die with us in any case."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    first = 0.0

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if over.is_set() and time.monotonic() > first + _SAME_SIGNAL_SECONDS:
            raise KeyboardInterrupt
        first = first or time.monotonic()
        over.set()

    before: dict[signal.Signals, Any] = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tally(name: str, outcomes: list[Outcome]) -> Tally:
    accounts = [one.account for one in outcomes]
    states = {state: sum(one.state is state for one in outcomes) for state in State}
    told = [f"{count} {state}" if count < len(outcomes) else str(state) for state, count in states.items() if count]
    return Tally(
        point=name,
        rounds=len(outcomes),
        outcome=", ".join(told),
        **{
            what: sum(getattr(one, what) for one in accounts) for what in ("files", "records", "bronze", "dead_letters")
        },
        **{what: sum(len(getattr(one, what)) for one in accounts) for what in ("lost", "doubled", "unexplained")},
    )
