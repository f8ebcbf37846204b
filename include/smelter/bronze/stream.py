"""The stream: Spark finds files and keeps count of batches; each batch goes through `Bronze`.

Safe to kill at any moment: the next start finishes what was prepared, mends Spark's checkpoint and goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.bronze.batch import Bronze
from smelter.bronze.mishaps import no_landing
from smelter.bronze.pace import Hooks, Pace
from smelter.bronze.pulse import Pulse
from smelter.bronze.query import Query
from smelter.bronze.signals import Stopper
from smelter.bronze.spread import Here, OnSpark
from smelter.bronze.trust import refuse_strangers
from smelter.contracts import Contract
from smelter.errors import Refused, SmelterError, Unreachable
from smelter.lake.home import Lake
from smelter.lake.session import start_spark, ui_of
from smelter.lake.sources import path_of
from smelter.records import Limits
from smelter.supervise.heartbeat import State
from smelter.supervise.lock import DRAIN, STREAM, only_driver
from smelter.supervise.requests import Wanted, Wish, forget_requests, wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Hooks", "Pace", "driving", "ingest"]


def ingest(
    lake: Lake,
    contract: Contract,
    limits: Limits,
    pace: Pace,
    hooks: Hooks | None = None,
    spark: SparkSession | None = None,
) -> None:
    """Run the stream of one dataset until everything is in, or until it is stopped; the only driver of its stream."""
    hooks = hooks or Hooks()
    folder = lake.run_folder(contract.dataset)
    before = wanted(folder)
    _refuse_unwanted(before, folder, pace)
    with (
        driving(lake, contract.dataset, hooks, STREAM if pace.follow else DRAIN) as pulse,
        Stopper(pulse, hooks.say, hooks.should_stop, folder, before) as stopper,
    ):
        bronze = Bronze(lake, contract, limits, Here(), hooks.reach, hooks.task_reach)
        _catch_up(bronze, pulse)
        session = spark or start_spark(lake, f"smelter {contract.dataset}", folder, ui=pace.follow)
        try:
            stopper.arm()
            pulse.shown_at(ui_of(session))
            bronze.run_with(OnSpark(session))
            Query(session, bronze, pace, pulse, hooks, stopper).run()
        finally:
            if spark is None:
                with suppress(Exception):  # a JVM that is gone cannot be stopped, and says so at length
                    session.stop()


def _refuse_unwanted(said: Wanted, folder: Path, pace: Pace) -> None:
    """A stopped stream starts again by `smelt stream start` only; a paused one waits, and is not drained."""
    is_unwanted = said.wish is Wish.STOP if pace.follow else said.wish is Wish.PAUSE
    if is_unwanted:
        raise Refused(
            f"the stream {folder.name} is {said}",
            where=str(folder),
            data="nothing was read or changed",
            next_step=f"smelt stream {'start' if pace.follow else 'resume'} {folder.name}",
        )


@contextmanager
def driving(lake: Lake, dataset: str, hooks: Hooks, role: str = STREAM) -> Iterator[Pulse]:
    """Be the stream's only driver, with a heartbeat that ends with the truth."""
    folder = lake.run_folder(dataset)
    with only_driver(folder, dataset, role) as me:
        forget_requests(folder, but=me.run)
        pulse = Pulse(folder, dataset, hooks.report, me.run)
        try:
            yield pulse
        except BaseException as problem:
            what = problem.what if isinstance(problem, SmelterError) else f"{type(problem).__name__}: {problem}"
            code = problem.exit_code if isinstance(problem, SmelterError) else Unreachable.exit_code
            pulse.end(State.STOPPED if isinstance(problem, Refused) else State.FAILED, what[:500], code)
            raise
        pulse.end(State.STOPPED)


def _catch_up(bronze: Bronze, pulse: Pulse) -> None:
    """Finish what an earlier driver left; needs no JVM and reads no source again."""
    for earlier in bronze.finish_prepared():
        pulse.committed(earlier)
    refuse_strangers(bronze)
    bronze.books.forget_asked()
    gone = [unit for unit in bronze.books.only_planned() if not path_of(unit.source).exists()]
    if gone and not bronze.lake.landing(bronze.contract).is_dir():
        raise no_landing(bronze)
    report = bronze.take_in(gone, "gone", bronze.books.next_sequence())
    if report is not None:
        pulse.committed(report)
