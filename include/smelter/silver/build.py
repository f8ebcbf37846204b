"""How does bronze become silver? Read what is new, shape it, judge it, publish it in one commit, report.

Safe to kill and to repeat at any moment: silver has no checkpoint of its own. How far it has come is written in the
very snapshot that holds the rows, and nothing else is kept between runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyiceberg.table import Table

from smelter.errors import Refused
from smelter.lake.bookmarks import bookmark_of, bookmark_summary
from smelter.lake.derived import ensure_derived, evolve, frozen, move_bookmark, refuse_strange_columns
from smelter.lake.derived import replace as replace_table
from smelter.lake.home import BRONZE, SILVER, Lake
from smelter.lake.increments import Backlog, Slice, backlog_of, read_again, read_slice
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, Lease, lease
from smelter.lake.session import SPARK_LOG, jvm_of, start_spark
from smelter.lake.spark_errors import spark_errors
from smelter.lake.spark_types import schema_of
from smelter.lake.tables import active_contract, find_table, load_table, row_count
from smelter.quality.gx import warm_up
from smelter.silver.definition import origins, partitions_of, properties_of, silver_of, wanted_schema, what_changed
from smelter.silver.facts import facts_of
from smelter.silver.gate import Increment, Passed, kept_before, nothing_to_judge, pass_or_refuse
from smelter.silver.gone import FATE, GOES, Gone, gone_things, holds_rows_that_left
from smelter.silver.publish import merge_rows
from smelter.silver.report import SilverReport, Taken
from smelter.silver.rows import one_row_per_key, silver_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from smelter.lake.spans import Spans
    from smelter.quality.verdict import Scope

CONTRACT = "smelter.silver-contract"  # in summaries: under which the rows were merged
PUBLISHED_ANYWAY = "smelter.published-anyway"


@dataclass(frozen=True)
class Wishes:
    """What the person who runs it wants."""

    rebuild: bool = False
    publish_anyway: str = ""  # the reason, if checks that fail are to be overridden
    wait_seconds: float = DEFAULT_WAIT_SECONDS
    most_rows: int = 2_000_000


@dataclass(frozen=True)
class Hooks:
    """Who is told what happens."""

    taken: Callable[[Taken], None] = lambda _one: None
    say: Callable[[str], None] = lambda _line: None
    reach: Callable[[str], None] = lambda _point: None  # named points, for those who break things there


_NO_WISHES, _NO_HOOKS = Wishes(), Hooks()


def build_silver(
    lake: Lake,
    dataset: str,
    wishes: Wishes = _NO_WISHES,
    hooks: Hooks = _NO_HOOKS,
    spark: SparkSession | None = None,
) -> SilverReport:
    """Bring silver up to date with bronze. Starts no JVM when there is nothing to do."""
    with lease(lake, SILVER, dataset, f"smelt silver {dataset}", wishes.wait_seconds, hooks.say) as held:
        work = _Work(lake, dataset, wishes, hooks)
        backlog = work.backlog()
        if not work.has_something_in(backlog) and not wishes.rebuild:
            work.skip(backlog)
            return work.report(backlog, [])
        return work.report(backlog, work.take(backlog, held, spark))


class _Work:
    """One run for one dataset."""

    def __init__(self, lake: Lake, dataset: str, wishes: Wishes, hooks: Hooks) -> None:
        self._lake, self._dataset, self._wishes, self._hooks = lake, dataset, wishes, hooks
        self._bronze = load_table(lake, BRONZE, dataset)
        self._contract = active_contract(self._bronze)
        if self._contract.silver is None:
            raise Refused(
                f"the active contract of {dataset} has no `silver:`",
                where=self._contract.label,
                data="nothing was changed",
                next_step=f"add silver: {{key: […]}} to the contract; then: smelt contract plan {dataset}",
            )
        self._table = find_table(lake, SILVER, dataset)
        self._log = lake.job_folder(SILVER, dataset) / SPARK_LOG
        self._columns_changed = False

    def backlog(self) -> Backlog:
        """What is to be read; all of bronze at once for a rebuild."""
        if self._wishes.rebuild:
            self._refuse_empty_bronze()
            return backlog_of(self._bronze, None, most_rows=sys.maxsize)
        if self._table is None:
            return backlog_of(self._bronze, None, self._wishes.most_rows)
        self._refuse_unless_same(self._table)
        found = backlog_of(self._bronze, bookmark_of(self._table), self._wishes.most_rows)
        if bookmark_of(self._table) is None and self._table.current_snapshot() is not None:
            return Backlog(
                tuple(read_again(found.slices)), begins_anew="none of its snapshots says how far it had come"
            )
        return found

    def has_something_in(self, backlog: Backlog) -> bool:
        """Did rows come into bronze, or leave it that silver has?"""
        return any(part.rows or holds_rows_that_left(self._lake, self._table, part) for part in backlog.slices)

    def skip(self, backlog: Backlog) -> None:
        """Snapshots without rows, such as a compaction: only the bookmark moves, and no JVM is needed.

        Changed columns get a snapshot too: whoever reads silver at one sees the columns that it was made with.
        """
        if self._table is None:
            return
        self._evolve(self._table)
        bookmark = backlog.slices[-1].bookmark if backlog.slices else bookmark_of(self._table)
        snapshot = self._table.current_snapshot()
        is_old = snapshot is not None and snapshot.schema_id != self._table.metadata.current_schema_id
        if bookmark is not None and (backlog.slices or is_old):
            move_bookmark(self._table, bookmark_summary(bookmark))

    def take(self, backlog: Backlog, held: Lease, spark: SparkSession | None) -> list[Taken]:
        """Every slice, oldest first, each with a commit of its own."""
        if backlog.begins_anew:
            self._hooks.say(f"silver.{self._dataset} begins anew from all of bronze: {backlog.begins_anew}")
        if self._contract.quality:
            warm_up()
        session = spark or start_spark(self._lake, f"silver {self._dataset}", self._log.parent, builds=True)
        held.share_with(jvm_of(session))
        self._hooks.reach("spark_started")
        taken = []
        advice = "a derived column or check fails on a row: write try_cast or try_divide in the contract"
        try:
            for number, part in enumerate(backlog.slices, 1):
                place = (number, len(backlog.slices))
                with spark_errors(f"silver.{self._dataset}", self._log, kept_before(self._dataset, place), advice):
                    one = self._take(session, part, place)
                self._hooks.taken(one)
                taken.append(one)
        finally:
            if spark is None:
                session.stop()
        return taken

    def report(self, backlog: Backlog, taken: list[Taken]) -> SilverReport:
        """What was done, and what silver holds now."""
        return SilverReport(
            self._dataset,
            self._contract.label,
            self._wishes.rebuild,
            backlog.begins_anew,
            self._columns_changed,
            tuple(taken),
            self._rows(),
        )

    def _take(self, spark: SparkSession, part: Slice, place: tuple[int, int]) -> Taken:
        """Read, shape, judge, write: nothing is published if the judgement says stop."""
        started, before = time.monotonic(), self._rows()
        merged_at = datetime.now(UTC)
        records = read_slice(spark, BRONZE, self._dataset, part)
        gone = self._gone(spark, part)
        if gone is not None:
            records = records.unionByName(gone.remaining(records.columns))
        things = one_row_per_key(records, silver_of(self._contract))
        rows = frozen(silver_rows(things, self._contract, merged_at))
        facts = facts_of(rows, self._contract, gone.days if gone is not None else ())
        self._hooks.reach("read")
        increment = Increment(self._lake, spark, self._contract, rows, part, place)
        passed = self._judged(increment, merged_at, has_rows=facts.rows > 0)
        self._hooks.reach("judged")
        source = rows if gone is None else gone.beside(rows)
        removed = 0 if gone is None else source.where(f"{FATE} = '{GOES}'").count()
        self._publish(spark, source, facts.spans, part, passed.reason, has_rows=facts.rows > 0 or gone is not None)
        self._hooks.reach("published")
        passed.note()
        return Taken(
            *place,
            max(part.rows, facts.rows),  # what came while a first build read is in it too
            facts.rows,
            self._rows() - (0 if self._wishes.rebuild else before) + removed,
            time.monotonic() - started,
            facts.failed_casts,
            facts.spans,
            passed.verdict,
            passed.reason,
            removed,
        )

    def _judged(self, increment: Increment, at: datetime, *, has_rows: bool) -> Passed:
        """The gate's word; where all rows of a slice have left again there is nothing to judge."""
        if not has_rows and not self._wishes.rebuild:
            return nothing_to_judge(increment, at)
        scope: Scope = "table" if self._wishes.rebuild else "increment"
        return pass_or_refuse(increment, at, scope=scope, anyway=self._wishes.publish_anyway)

    def _gone(self, spark: SparkSession, part: Slice) -> Gone | None:
        """What silver has and bronze no longer does; a table that is made anew has nothing of that."""
        if self._table is None or self._wishes.rebuild:
            return None
        return gone_things(spark, self._contract, part, origins(self._table, self._contract, self._bronze))

    def _publish(
        self, spark: SparkSession, rows: DataFrame, spans: Spans | None, part: Slice, reason: str, *, has_rows: bool
    ) -> None:
        """One commit. A table that is not there yet is made only now, so that a failed check leaves nothing behind."""
        properties, partitions = properties_of(self._contract, self._bronze), partitions_of(self._contract)
        summary = {**bookmark_summary(part.bookmark), CONTRACT: self._contract.label}
        if reason:
            summary[PUBLISHED_ANYWAY] = reason
        if self._table is not None and not self._wishes.rebuild:
            self._evolve(self._table)
        else:
            schema = schema_of(rows.schema, "silver.columns: ")
            if self._table is None:
                self._table = ensure_derived(self._lake, SILVER, self._dataset, schema, partitions, properties)
            refuse_strange_columns(self._table, schema)
        self._hooks.reach("table_ready")
        if self._wishes.rebuild:
            replace_table(spark, SILVER, self._dataset, rows, partitions, properties, summary)
        elif not has_rows:  # Spark 4.1 cannot plan a merge that touches no day
            move_bookmark(self._table, summary)
        else:
            merge_rows(spark, self._contract, rows, spans, summary, in_order=part.is_in_order)
        self._table = load_table(self._lake, SILVER, self._dataset)

    def _evolve(self, table: Table) -> None:
        """Columns that the contract has gained, lost or renamed are so in silver too."""
        was = table.metadata.current_schema_id
        wanted = wanted_schema(table, self._contract)
        evolve(table, wanted, origins(table, self._contract, self._bronze), properties_of(self._contract, self._bronze))
        self._columns_changed |= table.refresh().metadata.current_schema_id != was

    def _refuse_unless_same(self, table: Table) -> None:
        changed = what_changed(table, self._contract, self._bronze)
        if changed:
            raise Refused(
                f"silver.{self._dataset} was made by other rules: {', '.join(changed)} changed since",
                where=self._contract.label,
                data="nothing was changed; the rows of silver are those of the old rules",
                next_step=f"build it anew from bronze, in one commit: smelt silver {self._dataset} --rebuild",
            )

    def _refuse_empty_bronze(self) -> None:
        if self._bronze.current_snapshot() is None:
            raise Refused(
                f"bronze.{self._dataset} has no rows to build silver from",
                where=self._contract.label,
                data=f"nothing was changed; silver.{self._dataset} is as it was",
                next_step=f"smelt ingest {self._dataset} --drain",
            )

    def _rows(self) -> int:
        return row_count(self._table) if self._table is not None else 0
