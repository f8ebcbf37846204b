"""The one Spark session of a run of maintenance: started when the first table needs it, if any does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from smelter.lake.home import Lake
from smelter.lake.lease import lease
from smelter.lake.session import SPARK_LOG, cores_here, jvm_of, start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOM, _SESSION = "maintenance", "session"


class Engine:
    """A session that runs already, which stays, or one of the run's own; one run at a time has one.

    `beside_stream`: a stream runs on this machine, so that half of the cores are left to it.
    """

    def __init__(
        self, lake: Lake, running: SparkSession | None = None, *, beside_stream: bool = False, wait_seconds: float = 60
    ) -> None:
        self._lake = lake
        self._session = running
        self._cores = max(1, cores_here() // 2) if beside_stream else None
        self._wait_seconds = wait_seconds
        self._opened = ExitStack()
        self.log: Path = lake.job_folder(_ROOM, _SESSION) / SPARK_LOG

    def session(self, share: Callable[[int | None], None]) -> SparkSession:
        """The session; `share` is told the process that may write for whoever asks."""
        if self._session is None:
            held = self._opened.enter_context(
                lease(self._lake, _ROOM, _SESSION, "another run of smelt maintain", self._wait_seconds)
            )
            self._session = start_spark(self._lake, "smelt maintain", self.log.parent, builds=True, cores=self._cores)
            held.share_with(jvm_of(self._session))
            self._opened.callback(self._session.stop)
        share(jvm_of(self._session))
        return self._session

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, problem, at)
