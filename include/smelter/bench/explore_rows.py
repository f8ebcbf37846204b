"""A bronze table for the bench of questions: events of twenty days in many data files, written without a JVM."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa

from smelter.contracts import Contract
from smelter.lake.commits import Commit, commit_once
from smelter.lake.data_files import DataFileWriter, TableShape
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import ensure_tables, load_table
from smelter.lake.written import WrittenFile

DAYS = 20  # a commit each
_FIRST_MOMENT = datetime(2026, 1, 1, 12, tzinfo=UTC)
# An event is up to a day old when it is taken in; ids have no order, and properties are as the producer's are.
_EVENTS = """
    select * exclude chance, map {
        'session_id': substr(event_id, 1, 16), 'browser': 'Firefox 143', 'country': 'DE',
        'page': concat('/products/', product_id), 'logged_in': 'true', 'currency': 'EUR',
        'amount': if(event_type = 'purchase', (chance % 20000 / 100)::varchar, 'none')
    } as properties
    from (
        select
            concat('user-', lpad((chance % 50000)::varchar, 5, '0')) as user_id,
            md5(number::varchar) as event_id,
            $at - to_microseconds((chance % 86400000000)::bigint) as event_timestamp,
            if((chance >> 48) % 8 = 0, 'purchase', 'page_view') as event_type,
            concat('sku-', (chance >> 32) % 1200) as product_id,
            number - $first as _position,
            chance
        from (select number, hash(number) as chance from range($first, $end) events(number))
    )
"""


@dataclass(frozen=True)
class MadeEvents:
    """What is in the table, and what can be asked of it."""

    files: tuple[str, ...]
    bytes: int
    day: datetime  # one in the middle
    event_id: str  # of one event


def make_events(lake: Lake, shipped: Contract, rows: int, files: int) -> MadeEvents:
    """Bronze of the shipped contract, a commit for each day, by the stream's own writer; one file at a time."""
    ensure_tables(lake, shipped)
    table, days = load_table(lake, BRONZE, shipped.dataset), min(DAYS, files)
    written = list[WrittenFile]()
    with duckdb.connect() as maker:
        maker.execute("set TimeZone = 'UTC'")
        for day in range(days):
            numbers = range(files * day // days, files * (day + 1) // days)
            spans = [range(rows * one // files, rows * (one + 1) // files) for one in numbers]
            batch = _Batch(TableShape.of(table), maker, shipped, day)
            added = [one for span in spans for one in batch.write(span)]
            commit_once(table, Commit(batch.token, batch.moment, added, {}), may_be_there=False)
            written += added
    paths, size = tuple(one.path for one in written), sum(one.size for one in written)
    return MadeEvents(paths, size, _moment(days // 2).replace(hour=0), _event_id(rows // 3))


@dataclass(frozen=True)
class _Batch:
    """The events of one day."""

    shape: TableShape
    maker: duckdb.DuckDBPyConnection
    contract: Contract
    day: int

    @property
    def token(self) -> str:
        return f"{self.contract.dataset}:{self.day}"

    @property
    def moment(self) -> datetime:
        return _moment(self.day)

    def write(self, span: range) -> list[WrittenFile]:
        """One data file of the events with these numbers."""
        moment = pa.scalar(self.moment, pa.timestamp("us", "UTC"))
        same = {
            "_source": pa.scalar(f"file:///landing/{span.start}.json"),
            "_arrived_at": moment,
            "_ingested_at": moment,
            "_batch": pa.scalar(self.token),
            "_contract": pa.scalar(self.contract.label),
        }
        events = self.maker.execute(_EVENTS, {"at": self.moment, "first": span.start, "end": span.stop})
        writer = DataFileWriter(self.shape)
        for rows in events.to_arrow_table().to_batches():
            writer.add(self.shape.conform(rows, same))
        return writer.finish()


def _moment(day: int) -> datetime:
    return _FIRST_MOMENT + timedelta(days=day)


def _event_id(number: int) -> str:
    return hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
