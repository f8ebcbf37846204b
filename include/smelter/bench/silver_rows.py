"""Rows of bronze for the bench of silver, made by Spark: ten million of them through the judge would take minutes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from smelter.contracts import Contract, parse_contract
from smelter.contracts.write import contract_text
from smelter.lake.commits import INGESTED_AT
from smelter.lake.derived import append
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import ensure_tables

FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
ROWS_PER_DAY = 100_000
_FILES = 2  # of a batch: the stream's tasks write one each
_LATE_SHARE, _LATE_DAYS, _KNOWN_SHARE = 50, 7, 20  # one row in fifty is late, one in twenty has been seen


@dataclass(frozen=True)
class Benched:
    """A dataset of the bench: the shipped contract under another name."""

    lake: Lake
    contract: Contract

    @classmethod
    def of(cls, lake: Lake, shipped: Contract, name: str, quality: str = "") -> Benched:
        """The dataset with its tables; `quality` takes the place of the contract's own checks."""
        words = shipped.model_dump(by_alias=True, exclude_unset=True, exclude={"quality"})
        plain = Contract.model_validate(words | {"dataset": name, "source": {"files": f"landing/{name}"}})
        contract = parse_contract(contract_text(plain) + quality, name)
        ensure_tables(lake, contract)
        return cls(lake, contract)

    def fill(self, spark: SparkSession, rows: int) -> None:
        """Rows in the order of their times, as many a day as every day has, committed in parts of a million."""
        part = min(rows, 1_000_000)
        for number, first in enumerate(range(0, rows, part)):
            at = f"id * {86_400_000_000 // ROWS_PER_DAY}"
            self._append(spark, _events(spark, first, min(first + part, rows), "id", at), number)

    def add(self, spark: SparkSession, after: int, rows: int, number: int) -> None:
        """An increment: mostly new events of the last two days, a few of them late, and a few that were sent twice."""
        day, last = 86_400_000_000, max(after // ROWS_PER_DAY - 1, 0)
        fresh = f"{last * day} + pmod(hash(id), {day})"
        late = f"{max(last - _LATE_DAYS, 0) * day} + pmod(hash(id), {min(_LATE_DAYS, last) * day or day})"
        is_known = f"id % {_KNOWN_SHARE} = 0"
        event = f"case when {is_known} then id - {rows} else id end"
        known = f"(id - {rows}) * {day // ROWS_PER_DAY}"
        at = f"case when {is_known} then {known} when id % {_LATE_SHARE} = 1 then {late} else {fresh} end"
        first = after + number * rows
        self._append(spark, _events(spark, first, first + rows, event, at), 10_000 + number)

    def _append(self, spark: SparkSession, events: DataFrame, number: int) -> None:
        at = FIRST_DAY + timedelta(days=300, seconds=number)
        rows = events.select(
            *self.contract.fields,
            F.lit(f"file:///landing/{number}.json").alias("_source"),
            F.col("_position"),
            F.lit(at).alias("_arrived_at"),
            F.lit(at).alias("_ingested_at"),
            F.lit(f"bench:{number}").alias("_batch"),
            F.lit(self.contract.label).alias("_contract"),
        )
        append(spark, BRONZE, self.contract.dataset, rows.coalesce(_FILES), {INGESTED_AT: at.isoformat()})


def _events(spark: SparkSession, first: int, end: int, event: str, at_micros: str) -> DataFrame:
    """Events as the producer's are: a map of seven texts, some of them purchases with an amount."""
    start = int(FIRST_DAY.timestamp() * 1e6)
    return spark.sql(f"""
        select *, map('session_id', substr(md5(user_id), 1, 16), 'browser', 'Firefox 143', 'country', 'DE',
            'page', concat('/products/', product_id), 'logged_in', 'true', 'currency', 'EUR',
            'amount', if(event_type = 'purchase', cast(pmod(number, 20000) / 100.0 as string), 'none')) as properties
        from (
            select concat('user-', lpad(cast(pmod(hash(number, 1), 5000) as string), 5, '0')) as user_id,
                md5(cast(number as string)) as event_id,
                timestamp_micros({start} + at_micros) as event_timestamp,
                if(pmod(hash(number, 2), 8) = 0, 'purchase', 'page_view') as event_type,
                concat('sku-', pmod(hash(number, 3), 1200)) as product_id, number, _position
            from (select {event} as number, {at_micros} as at_micros, id as _position
                  from range({first}, {end}, 1, 8))
        )
    """)  # noqa: S608
