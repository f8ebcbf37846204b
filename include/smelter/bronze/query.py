"""Spark's query over the landing folder: it finds files and keeps count of batches, each of which goes to `Bronze`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.budget import Budget
from smelter.bronze.mishaps import make_landing, overdrawn, query_failed
from smelter.bronze.pace import Hooks, Pace
from smelter.bronze.pulse import Pulse
from smelter.bronze.signals import Stopper
from smelter.lake.batches import Receipt, Unit
from smelter.lake.checkpoint import Checkpoint, Listed
from smelter.lake.landing import is_in_finished_place, look_at, put_away, take_back
from smelter.lake.sources import path_of, unit_of
from smelter.supervise.heartbeat import State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_COLUMNS = "path string, modificationTime timestamp, length long, content binary"
_LOOK_SECONDS = 15.0
_POLL_SECONDS = 0.25


class _Stop(Exception):
    """Raised in a batch that has not begun, because somebody asked the stream to stop."""


class Query:
    """One run of the query."""

    def __init__(
        self, spark: SparkSession, bronze: Bronze, pace: Pace, pulse: Pulse, hooks: Hooks, stopper: Stopper
    ) -> None:
        self._spark = spark
        self._bronze = bronze
        self._pace = pace
        self._pulse = pulse
        self._hooks = hooks
        self._stopper = stopper
        self._landing = bronze.lake.landing(bronze.contract)
        self._checkpoint = Checkpoint(bronze.lake.checkpoint(bronze.dataset))
        self._budget = Budget(bronze, pulse, follow=pace.follow)
        self._failure: BaseException | None = None
        self._look_again = 0.0

    def run(self) -> None:
        """Start the query and stay with it to its end."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        make_landing(self._bronze)
        self._checkpoint.mend(lambda line: self._pulse.say("checkpoint_mended", what=line))
        self._put_away_leftovers()
        try:
            query = self._start()
        except (Py4JError, PySparkException) as problem:
            raise query_failed(str(problem), self._bronze) from problem
        self._pulse.be(State.WAITING)
        while not self._has_ended(query):
            if self._stopper.asked:
                self._leave(query)
            self._rest()
            self._pulse.beat()
            self._look()
        if self._failure is not None and not isinstance(self._failure, _Stop):
            raise self._failure

    def _start(self) -> StreamingQuery:
        files = (
            self._spark.readStream.format("binaryFile")
            .schema(_COLUMNS)
            .option("recursiveFileLookup", "true")
            .option("maxFileAge", "100000000d")  # counted from the newest file: none is too old beside any other
        )
        limit = ("maxBytesPerTrigger", self._pace.max_bytes) if self._pace.max_bytes else None
        files = files.option(*(limit or ("maxFilesPerTrigger", self._pace.max_files)))
        query = files.load(_as_one_path(self._landing)).select("path").writeStream.foreachBatch(self._batch)
        query = query.queryName(f"bronze_{self._bronze.dataset}").option(
            "checkpointLocation", str(self._checkpoint.folder)
        )
        if self._pace.follow:
            return query.trigger(processingTime=f"{int(self._pace.trigger_seconds * 1000)} milliseconds").start()
        return query.trigger(availableNow=True).start()

    def _leave(self, query: StreamingQuery) -> None:
        """End between batches; a batch that is at work is waited for."""
        if self._pulse.state is not State.WORKING:
            self._pulse.be(State.STOPPING)
        if not query.status["isTriggerActive"]:
            query.stop()

    def _rest(self) -> None:
        """Say that the stream rests, or that it goes on; a batch that is at work is not disturbed."""
        asked = self._stopper.rest
        if asked is not None and self._pulse.state is State.WAITING:
            self._pulse.be(State.PAUSED, str(asked))
            self._pulse.say("stream_paused", by=asked.by, reason=asked.reason)
        elif asked is None and self._pulse.state is State.PAUSED:
            self._pulse.be(State.WAITING)
            self._pulse.say("stream_resumed")

    def _wait_while_resting(self) -> None:
        """A batch that Spark has planned begins only when the stream may go on; its files are in no table yet."""
        while self._stopper.rest is not None and not self._stopper.asked:
            time.sleep(_POLL_SECONDS)

    def _batch(self, _frame: DataFrame, number: int) -> None:
        """Called by Spark for each batch, with its offsets already written down."""
        try:
            if self._failure is not None:
                raise self._failure
            self._wait_while_resting()
            if self._stopper.asked:
                raise _Stop
            self._pulse.be(State.WORKING)
            self._hooks.reach("offsets_written")
            units = [_unit(listed) for listed in self._checkpoint.files_of(number) if self._is_ours(listed.path)]
            report = self._bronze.take_in(units, self._checkpoint.id, number)
            if report is not None:
                self._pulse.committed(report)
                self._put_away(report.receipts, just_read=True)
                self._keep_budget(report)
            self._pulse.be(State.STOPPING if self._stopper.asked else State.WAITING)
        except BaseException as problem:
            self._failure = problem
            if isinstance(problem, Exception):
                raise
            raise _Stop from problem  # the bridge to the JVM answers for exceptions only, and would wait for ever

    def _keep_budget(self, report: Report) -> None:
        """A driver that follows rests when its stream pauses itself; a drain would wait for nobody, and ends."""
        found = self._budget.keep(report)
        if found is not None and not self._pace.follow:
            self._failure = overdrawn(str(found), self._bronze)  # Spark may hold this batch for done; no other begins

    def _is_ours(self, path: Path) -> bool:
        return is_in_finished_place(path, self._landing)

    def _put_away(self, receipts: Sequence[Receipt], *, just_read: bool) -> None:
        how = self._bronze.contract.source.after_commit
        if how != "keep" and receipts:
            archive = self._bronze.lake.archive(self._bronze.dataset) if how == "archive" else None
            files, problems = put_away(receipts, self._landing, archive, just_read=just_read)
            self._pulse.say("files_put_away", how=how, files=files)
            for problem in problems:  # the records are safe in the tables; the file only stays where it is
                self._pulse.say("file_not_put_away", file=problem.filename, why=problem.strerror)

    def _put_away_leftovers(self) -> None:
        """A driver that was killed between its commit and this left files that are in the tables."""
        take_back(self._landing)
        if self._bronze.contract.source.after_commit != "keep":
            receipts = [one for done in self._bronze.records.done() for one in done.receipts]
            self._put_away([one for one in receipts if path_of(one.unit.source).exists()], just_read=False)

    def _has_ended(self, query: StreamingQuery) -> bool:
        from py4j.protocol import Py4JError
        from pyspark.errors import StreamingQueryException

        try:
            return bool(query.awaitTermination(_POLL_SECONDS))  # type: ignore[arg-type]  # seconds, and fractions work
        except StreamingQueryException as problem:
            if self._failure is None:
                self._failure = query_failed(str(problem), self._bronze)
            return True
        except (Py4JError, OSError) as problem:
            self._failure = query_failed(f"its JVM is gone ({problem})", self._bronze)
            return True

    def _look(self) -> None:
        """Count what waits, seldom enough that it costs nothing beside the batches."""
        started = time.monotonic()
        if self._pulse.state is State.WAITING and started >= self._look_again:
            self._pulse.waiting(look_at(self._landing, dict(self._bronze.books.committed)))
            self._look_again = time.monotonic() + max(_LOOK_SECONDS, 50 * (time.monotonic() - started))


def _unit(listed: Listed) -> Unit:
    """The file as it was listed: if it was written since, its task will find that it changed."""
    unit = unit_of(listed.path, listed_ns=listed.modified_ns)
    if unit.modified_ns // 1_000_000 == listed.modified_ns // 1_000_000:
        return unit
    return Unit(unit.source, unit.length, listed.modified_ns)


def _as_one_path(folder: Path) -> str:
    """Spark takes a path for a pattern of paths."""
    special = "*?[]{}\\"
    return "".join(f"\\{character}" if character in special else character for character in str(folder))
