"""Something is done to letters in a process of its own, which is killed with kill -9 when it reaches a point."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from boxes import BAD, COUPONED, GOOD, Box, Row

from smelter.contracts import Contract
from smelter.dead_letters.run import Hooks
from smelter.lake.batches import BatchRecords, Intent
from smelter.lake.home import Lake
from smelter.settings import Settings

BEFORE_THE_INTENT = ("task_writing", "judged")
ALL_POINTS = bool(os.environ.get("ALL_POINTS"))  # `make prove` kills at each; `make test` at fewer where they are alike
CUT = b'{"id": 10}\n{"id": "x"}\n{"id": 1'
WHOLE = b'{"id": 10}\n{"id": "x"}\n{"id": 12}\n{"id": "y"}\n{"id": 14}\n'
# Its processes have everything imported when they begin, so that a kill costs a second and not three.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["killed", "pytest"])


def points(few: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Where a process is killed: always at a few, and at the others too in the long form."""
    return [*few, *(others if ALL_POINTS else ())]


def letters_of_every_kind(place: Path | Lake) -> Box:
    """One that passes now, two that never will, and one about a file that is whole now, with another bad record."""
    box = Box(Lake.at(Settings(lake=place)) if isinstance(place, Path) else place)
    box.arrive("plain.json", GOOD, COUPONED, BAD)
    box.arrive_bytes("cut.json", CUT)
    box.rewrite("cut.json", WHOLE)
    box.become()
    return box


def replay_letters(box: Box, hooks: Hooks) -> None:
    box.replay(hooks=hooks)


def edit_letter(box: Box, hooks: Hooks, name: str, position: int, corrected: Row) -> None:
    box.edit(name, position, corrected, hooks=hooks)


def undo_run(box: Box, hooks: Hooks, run: str) -> None:
    box.undo(run, hooks=hooks)


def discard_letters(box: Box, hooks: Hooks) -> None:
    box.discard(hooks=hooks)


def kill(box: Box, act: Callable[..., None], point: str, *words: object, nth: int = 1) -> None:
    """Do it until the point is reached for the nth time; its process is there no more when this returns."""
    process = _processes.Process(target=_act, args=(replace(box.lake), box.contract, act, point, nth, words))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL, f"it did not come to {point}"
    process.close()


def begun(box: Box) -> list[Intent]:
    """Runs that were prepared and not finished."""
    return BatchRecords(box.lake.letter_runs(box.name)).prepared()


def check_what_a_kill_left(box: Box, point: str) -> None:
    """Also then every record is accounted for, and can be found by whoever looks."""
    box.check()
    box.check_that_none_is_hidden()
    assert len(begun(box)) == (point not in (*BEFORE_THE_INTENT, "done"))


def _act(lake: Lake, contract: Contract, act: Callable[..., None], point: str, nth: int, words: tuple[object]) -> None:
    reached = 0

    def reach(here: str) -> None:
        nonlocal reached
        reached += here == point
        if here == point and reached == nth:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)

    act(Box(lake, contract), Hooks(reach=reach), *words)
