"""The one Spark session of a run of maintenance: started when the first table needs it, if any does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from smelter.errors import SmelterError, Unreachable
from smelter.lake.home import Lake
from smelter.lake.lease import lease
from smelter.lake.session import SPARK_LOG, cores_here, jvm_of, start_spark
from smelter.processes import start_ticks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOM, _SESSION = "maintenance", "session"


class NoSession(Unreachable):
    """There is no Spark session for this run, or no longer: that says nothing of the table whose turn it is."""


class Engine:
    """A session that runs already, which stays, or one of the run's own; one run at a time has one.

    `beside_stream`: a stream runs on this machine, so that half of the cores are left to it.
    """

    def __init__(
        self, lake: Lake, running: SparkSession | None = None, *, beside_stream: bool = False, wait_seconds: float = 60
    ) -> None:
        self._lake = lake
        self._session = running
        self._is_reserved = running is not None
        self._jvm: int | None = None
        self._problem: NoSession | None = None
        self._cores = max(1, cores_here() // 2) if beside_stream else None
        self._wait_seconds = wait_seconds
        self._opened = ExitStack()
        self.log: Path = lake.job_folder(_ROOM, _SESSION) / SPARK_LOG

    def reserve(self) -> None:
        """Be the one run that has a session. To be asked before a table is held: who holds one waits for nobody."""
        if self._problem is not None:
            raise self._problem
        if not self._is_reserved:
            held = lease(self._lake, _ROOM, _SESSION, "another run of smelt maintain", self._wait_seconds)
            try:
                self._lease = self._opened.enter_context(held)
            except SmelterError as problem:
                raise self._without(problem) from problem
            self._is_reserved = True

    def session(self, share: Callable[[int | None], None]) -> SparkSession:
        """The session; `share` is told the process that may write for whoever asks."""
        self.reserve()
        if self._session is None:
            self._session = self._start()
        elif self._jvm is not None and start_ticks(self._jvm) is None:
            raise self._without(Unreachable("Spark's JVM ended at an earlier table", where=str(self.log)))
        share(jvm_of(self._session))
        return self._session

    def _start(self) -> SparkSession:
        try:
            found = start_spark(self._lake, "smelt maintain", self.log.parent, builds=True, cores=self._cores)
        except SmelterError as problem:
            raise self._without(problem) from problem
        self._jvm = jvm_of(found)
        self._lease.share_with(self._jvm)
        self._opened.callback(_stop, found)
        return found

    def _without(self, problem: SmelterError) -> NoSession:
        """Whoever asks again is told the same, at once."""
        next_step = problem.next_step or "smelt maintain run goes on with the tables that are left"
        self._problem = NoSession(
            problem.what, where=problem.where, data="nothing of this table was changed", next_step=next_step
        )
        return self._problem

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, problem, at)


def _stop(session: SparkSession) -> None:
    with suppress(Exception):  # a JVM that is gone cannot be stopped, and says so at length
        session.stop()
