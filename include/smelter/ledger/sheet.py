"""The balance sheet: what sources should hold beside what tables do hold, compared per source and position.

It lives in DuckDB's memory and spills to disk, so that a hundred million identities need no hundred million objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from smelter.ledger.findings import Finding, Kind

_UNEQUAL = """
create table unequal as
select coalesce(e.source, h.source) as source, e.records, e.batch
from expected e
full join (
  select source, count(*) as held, count(distinct position) as positions,
         min(position) as lowest, max(position) as highest
  from held group by source
) h on h.source = e.source
where e.records is null or coalesce(h.held, 0) <> e.records or coalesce(h.positions, 0) <> e.records
   or (e.records > 0 and (h.lowest <> 0 or h.highest <> e.records - 1))
"""
_DOUBLED = """
select source, position, list(place || ' ' || batch order by place, batch) as places from held
where source in (select source from unequal) group by source, position having count(*) > 1 order by source, position
"""
_MISSING = """
select e.source, e.position, e.batch
from (select source, batch, unnest(range(records)) as position from unequal where records is not null) e
anti join held h on h.source = e.source and h.position = e.position order by e.source, e.position
"""
_UNEXPLAINED = """
select h.source, h.position, h.batch, h.place
from held h join unequal u on u.source = h.source
where u.records is null or h.position >= u.records or h.position < 0 order by h.source, h.position
"""
_LAST = """
create table closed as
select source, position, max_by(outcome, moment) as outcome, max_by(run, moment) as run from resolved
group by source, position having outcome in ('replayed', 'edited', 'discarded')
"""
_WENT_HOME = """
delete from held using closed c
where held.place = ? and c.source = held.source and c.position = held.position and c.outcome <> 'discarded'
"""
_DISCARDED = """
insert into held select ?, c.source, c.position, c.run from closed c
where c.outcome = 'discarded' and not exists (
  from held h where h.place = ? and h.source = c.source and h.position = c.position
)
"""
_FORGOTTEN = """
insert into held select distinct ?, f.source, f.position, '' from (
  select f.source, unnest(range(f.first, least(f.last + 1, e.records))) as position
  from forgotten f join expected e on e.source = f.source
) f anti join held h on h.source = f.source and h.position = f.position
"""
RESOLUTION_COLUMNS = ("dataset", "_source", "_position", "outcome", "run", "resolved_at")


class Sheet:
    """Filled with what is expected and what is held; then it says where they differ."""

    def __init__(self, scratch: Path) -> None:
        self._sheet = duckdb.connect(config={"temp_directory": str(scratch)})
        self._sheet.execute("create table expected (source varchar primary key, records bigint, batch varchar)")
        self._sheet.execute("create table held (place varchar, source varchar, position bigint, batch varchar)")
        columns = "source varchar, position bigint, outcome varchar, run varchar, moment timestamptz"
        self._sheet.execute(f"create table resolved ({columns})")
        self._sheet.execute(f"create table closed ({columns})")
        self._sheet.execute("create table forgotten (source varchar, first bigint, last bigint)")

    def expect(self, rows: Iterable[tuple[str, int, str]]) -> None:
        """Sources with the number of records that each must have in the tables, and the batch that took it."""
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        kinds = (pa.string(), pa.int64(), pa.string())
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        table = pa.table(arrays, names=["source", "records", "batch"])
        self._sheet.register("given", table)
        self._sheet.execute("insert into expected select source, records, batch from given")

    def hold(self, place: str, batches: Iterator[pa.RecordBatch], in_flight: set[str]) -> None:
        """Identities that a table holds; a batch that is being committed right now is left out."""
        for batch in batches:
            self._sheet.register("given", batch)
            self._sheet.execute(
                "insert into held select ?, _source, _position, _batch from given where not list_contains(?, _batch)",
                [place, sorted(in_flight)],
            )

    def resolve(self, place: str, batches: Iterator[pa.RecordBatch], dataset: str, in_flight: set[str]) -> None:
        """What became of letters: one that went home has its place in bronze; one that was discarded keeps it here.

        A discarded letter may have been removed by retention since, and then its resolution stands for it.
        """
        for batch in batches:
            self._sheet.register("given", batch)
            self._sheet.execute(
                "insert into resolved select _source, _position, outcome, run, resolved_at from given "
                "where dataset = ? and not list_contains(?, run)",
                [dataset, sorted(in_flight)],
            )
        self._sheet.execute("drop table closed")
        self._sheet.execute(_LAST)
        self._sheet.execute(_WENT_HOME, [place])
        self._sheet.execute(_DISCARDED, [place, place])

    def forget(self, place: str, batches: Iterator[pa.RecordBatch], dataset: str) -> None:
        """Identities that left for good; one that a table still holds has its place there, because rows leave later.

        One of a longer reading that was taken back is none of the source's records any more.

        Comes after everything that tables hold.
        """
        for batch in batches:
            self._sheet.register("given", batch)
            self._sheet.execute(
                "insert into forgotten select _source, first, last from given where dataset = ?", [dataset]
            )
        self._sheet.execute(_FORGOTTEN, [place])

    def closed(self) -> tuple[int, int]:
        """How many letters went home, and how many were discarded."""
        row = self._sheet.execute(
            "select count(*) filter (outcome <> 'discarded'), count(*) filter (outcome = 'discarded') from closed"
        ).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def findings(self) -> Iterator[Finding]:
        """Every record that is not in exactly one place."""
        self._sheet.execute(_UNEQUAL)
        for source, position, batch in self._rows(_MISSING):
            yield Finding(Kind.MISSING, source, position, batch)
        for source, position, places in self._rows(_DOUBLED):
            yield Finding(Kind.DOUBLED, source, position, places[0].partition(" ")[2], "; ".join(places))
        for source, position, batch, place in self._rows(_UNEXPLAINED):
            yield Finding(Kind.UNEXPLAINED, source, position, batch, place)

    def held_in(self, place: str) -> int:
        """How many records a table holds."""
        row = self._sheet.execute("select count(*) from held where place = ?", [place]).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Let go of memory and scratch files."""
        self._sheet.close()

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        cursor = self._sheet.cursor()
        cursor.execute(query)
        while rows := cursor.fetchmany(10_000):
            yield from rows
