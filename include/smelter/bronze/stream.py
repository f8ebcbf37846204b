"""The stream: Spark finds files and keeps count of batches; each batch goes through `Bronze`.

Safe to kill at any moment: the next start finishes what was prepared, mends Spark's checkpoint and goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.mishaps import make_landing, no_landing, query_failed
from smelter.bronze.pulse import Pulse
from smelter.bronze.signals import Stopper
from smelter.bronze.spread import Here, OnSpark
from smelter.bronze.trust import refuse_strangers
from smelter.contracts import Contract
from smelter.errors import Refused, SmelterError
from smelter.lake.batches import Receipt, Unit
from smelter.lake.checkpoint import Checkpoint, Listed
from smelter.lake.home import Lake
from smelter.lake.landing import is_in_finished_place, look_at, put_away, take_back
from smelter.lake.session import start_spark
from smelter.lake.sources import path_of, unit_of
from smelter.records import Limits
from smelter.supervise.heartbeat import State
from smelter.supervise.lock import only_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_COLUMNS = "path string, modificationTime timestamp, length long, content binary"
_LOOK_SECONDS = 15.0
_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Pace:
    """How the stream goes: once through everything that has arrived, or on and on."""

    follow: bool = False
    trigger_seconds: float = 2.0
    max_files: int = 1000
    max_bytes: int = 0


@dataclass(frozen=True)
class Hooks:
    """For those who watch: a report per batch, sentences worth showing, a way to stop, and points for tests."""

    report: Callable[[Report], None] = lambda _report: None
    say: Callable[[str], None] = lambda _line: None
    should_stop: Callable[[], bool] = lambda: False
    reach: Callable[[str], None] = lambda _point: None
    task_reach: Callable[[str], None] | None = None


class _Stop(Exception):
    """Raised in a batch that has not begun, because somebody asked the stream to stop."""


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
    with driving(lake, contract.dataset, hooks) as pulse, Stopper(pulse, hooks.say, hooks.should_stop) as stopper:
        bronze = Bronze(lake, contract, limits, Here(), hooks.reach, hooks.task_reach)
        _catch_up(bronze, pulse)
        session = spark or start_spark(lake, f"smelter {contract.dataset}", lake.run_folder(contract.dataset))
        try:
            stopper.arm()
            bronze.run_with(OnSpark(session))
            _Stream(session, bronze, pace, pulse, hooks, stopper).run()
        finally:
            if spark is None:
                with suppress(Exception):  # a JVM that is gone cannot be stopped, and says so at length
                    session.stop()


@contextmanager
def driving(lake: Lake, dataset: str, hooks: Hooks) -> Iterator[Pulse]:
    """Be the stream's only driver, with a heartbeat that ends with the truth."""
    folder = lake.run_folder(dataset)
    with only_driver(folder, dataset):
        pulse = Pulse(folder, dataset, hooks.report)
        try:
            yield pulse
        except BaseException as problem:
            what = problem.what if isinstance(problem, SmelterError) else f"{type(problem).__name__}: {problem}"
            pulse.end(State.STOPPED if isinstance(problem, Refused) else State.FAILED, what[:500])
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


class _Stream:
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
            if self._stopper.asked and not query.status["isTriggerActive"]:
                query.stop()
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

    def _batch(self, _frame: DataFrame, number: int) -> None:
        """Called by Spark for each batch, with its offsets already written down."""
        try:
            if self._stopper.asked:
                raise _Stop
            self._pulse.be(State.WORKING)
            self._hooks.reach("offsets_written")
            units = [_unit(listed) for listed in self._checkpoint.files_of(number) if self._is_ours(listed.path)]
            report = self._bronze.take_in(units, self._checkpoint.id, number)
            if report is not None:
                self._pulse.committed(report)
                self._put_away(report.receipts, just_read=True)
            self._pulse.be(State.STOPPING if self._stopper.asked else State.WAITING)
        except BaseException as problem:
            self._failure = problem
            if isinstance(problem, Exception):
                raise
            raise _Stop from problem  # the bridge to the JVM answers for exceptions only, and would wait for ever

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
