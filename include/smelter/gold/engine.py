"""The Spark session of a run: started when the first table needs it, if any does, and stopped at the end."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from smelter.lake.home import Lake
from smelter.lake.session import SPARK_LOG, start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Engine:
    """A session that runs already, which stays, or one of the run's own."""

    def __init__(self, lake: Lake, running: SparkSession | None) -> None:
        self._lake = lake
        self._session = running
        self._is_ours = running is None
        self.log = Path("spark.log")  # where Spark's log of the session is, if the session is ours

    def session(self, folder: Path) -> SparkSession:
        """The session; a new one has the folder, which nobody else uses, for its log and scratch files."""
        if self._session is None:
            self._session = start_spark(self._lake, "smelt gold", folder, builds=True)
            self.log = folder / SPARK_LOG
        return self._session

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._is_ours and self._session is not None:
            self._session.stop()
