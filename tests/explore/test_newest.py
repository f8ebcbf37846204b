"""Every question sees the tables as they are now."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType
from small_lakes import SmallLake, metadata_file

from smelter.errors import Refused
from smelter.explore import Explorer, TableName, connect
from smelter.lake.schema import letters_schema, resolutions_schema

HOUR = 3_600_000  # in milliseconds


@pytest.fixture
def explorer(lake: SmallLake) -> Iterator[Explorer]:
    with connect(lake.path) as opened:
        yield opened


def count(explorer: Explorer, table: str = "bronze.events") -> int:
    return explorer.execute(f"select count(*) from {table}").fetchall()[0][0]


def test_a_second_question_sees_the_commit_in_between(lake: SmallLake, explorer: Explorer) -> None:
    events = lake.with_events([1, 2])
    assert count(explorer) == 2
    lake.append(events, [3])
    assert count(explorer) == 3
    assert explorer.execute("select id from lake.bronze.events order by id").fetchall() == [(1,), (2,), (3,)]


def test_a_table_without_data_has_its_columns_and_no_rows(lake: SmallLake, explorer: Explorer) -> None:
    events = lake.make("bronze", "events")
    answer = explorer.execute("select * from bronze.events")
    assert answer.columns == ["id", "name"]
    assert answer.types == ["BIGINT", "VARCHAR"]
    assert answer.fetchall() == []
    lake.append(events, [1])
    assert explorer.execute("select * from bronze.events").fetchall() == [(1, "name 1")]


def test_columns_that_are_added_widened_renamed_or_dropped_are_seen(lake: SmallLake, explorer: Explorer) -> None:
    events = lake.with_events([1])
    assert explorer.execute("from bronze.events").columns == ["id", "name"]
    with events.update_schema() as change:
        change.add_column("score", IntegerType())
    assert explorer.execute("from bronze.events").fetchall() == [(1, "name 1", None)]
    with events.update_schema() as change:
        change.update_column("score", LongType())
        change.rename_column("name", "called")
    answer = explorer.execute("from bronze.events")
    assert (answer.columns, answer.types) == (["id", "called", "score"], ["BIGINT", "VARCHAR", "BIGINT"])
    with events.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column("called")
    assert explorer.execute("select * from bronze.events where score is null").fetchall() == [(1, None)]


def test_tables_that_come_and_go_are_seen_without_a_refresh(lake: SmallLake, explorer: Explorer) -> None:
    lake.with_events([1])
    assert count(explorer) == 1
    assert explorer.tables == [TableName("bronze", "events")]
    lake.make("silver", "events")
    assert count(explorer, "silver.events") == 0
    tables = [row[:2] for row in explorer.execute("show tables").fetchall() if row[0] != "ops"]
    assert tables == [("bronze", "events"), ("silver", "events")]
    lake.catalog.drop_table("bronze.events")
    with pytest.raises(Refused, match=r"there is no table bronze\.events; did you mean silver\.events\?"):
        count(explorer)
    lake.with_events([4, 5])
    assert count(explorer) == 2


def test_refresh_tells_which_tables_there_are(lake: SmallLake, explorer: Explorer) -> None:
    assert explorer.tables == []
    lake.make("bronze", "events")
    explorer.refresh()
    assert explorer.tables == [TableName("bronze", "events")]


def test_a_lake_without_a_catalog_is_open_and_stays_as_it_is(lake: SmallLake, explorer: Explorer) -> None:
    assert explorer.execute("select 1").fetchall() == [(1,)]
    assert {row[0] for row in explorer.execute("show tables").fetchall()} == {"ops"}
    with pytest.raises(Refused, match=r"there is no table bronze\.events: the lake has no tables yet"):
        count(explorer)
    assert not lake.path.exists()


def test_asking_leaves_nothing_in_the_lake(lake: SmallLake, explorer: Explorer) -> None:
    lake.with_events([1])
    before = lake.files()
    assert count(explorer) == 1
    assert lake.files() == before


def test_one_question_sees_one_snapshot(lake: SmallLake, explorer: Explorer) -> None:
    events = lake.with_events([1])
    answer = explorer.execute("select (select count(*) from bronze.events), count(*) from bronze.events")
    lake.append(events, [2])
    assert answer.fetchall() == [(1, 1)]


def told_an_hour_later(table: Table) -> None:
    """What a machine writes whose clock is ahead."""
    file = metadata_file(table)
    metadata = json.loads(file.read_text())
    metadata["last-updated-ms"] += 3_600_000
    for version in (*metadata["metadata-log"], *metadata["snapshots"][-1:], *metadata["snapshot-log"][-1:]):
        version["timestamp-ms"] += 3_600_000
    file.write_text(json.dumps(metadata))


def test_commits_by_a_machine_whose_clock_is_ahead_are_seen(lake: SmallLake, explorer: Explorer) -> None:
    events = lake.with_events([1])
    lake.append(events, [2])
    told_an_hour_later(events)
    assert count(explorer) == 2


def test_a_table_with_one_snapshot_of_a_clock_that_is_ahead_is_not_empty(lake: SmallLake, explorer: Explorer) -> None:
    told_an_hour_later(lake.with_events([1, 2]))
    assert count(explorer) == 2


@pytest.mark.parametrize(
    "shifts", [(0, 0, HOUR), (HOUR, HOUR, HOUR), (HOUR, 0, 0), (0, 30_000, 0), (0, 0, -30_000), (2 * HOUR, 0, HOUR)]
)
def test_the_newest_snapshot_is_the_tables_own_whatever_the_clocks_of_its_writers_say(
    lake: SmallLake, explorer: Explorer, shifts: tuple[int, ...]
) -> None:
    events = lake.with_events([1])
    lake.append(events, [2])
    lake.append(events, [3])
    file = metadata_file(events)
    metadata = json.loads(file.read_text())
    for kind in ("snapshots", "snapshot-log"):
        for one, shift in zip(metadata[kind], shifts, strict=True):
            one["timestamp-ms"] += shift
    file.write_text(json.dumps(metadata))
    assert count(explorer) == 3


@pytest.mark.parametrize("history", ["whole", "short", "empty", "none"])
@pytest.mark.parametrize("current", [0, 1])
def test_the_current_snapshot_is_shown_whatever_history_a_writer_kept(
    lake: SmallLake, explorer: Explorer, history: str, current: int
) -> None:
    events = lake.with_events([1])
    lake.append(events, [2])
    file = metadata_file(events)
    metadata = json.loads(file.read_text())
    metadata["current-snapshot-id"] = metadata["snapshots"][current]["snapshot-id"]
    metadata["refs"]["main"]["snapshot-id"] = metadata["current-snapshot-id"]
    log = metadata.pop("snapshot-log")
    if history != "none":
        metadata["snapshot-log"] = {"whole": log, "short": log[:1], "empty": []}[history]
    file.write_text(json.dumps(metadata, indent=2))
    assert count(explorer) == current + 1


def test_values_are_bound_and_never_part_of_the_text(lake: SmallLake, explorer: Explorer) -> None:
    lake.with_events([1, 2])
    assert explorer.execute("select id from bronze.events where name = ?", ["name 2"]).fetchall() == [(2,)]
    assert explorer.execute("select id from bronze.events where id = $id", {"id": 1}).fetchone() == (1,)
    hostile = "' or 1=1; drop view bronze.events; --"
    assert explorer.execute("select id from bronze.events where name = ?", [hostile]).fetchall() == []


def test_an_answer_can_be_read_in_parts_as_rows_or_as_arrow(lake: SmallLake, explorer: Explorer) -> None:
    lake.with_events(list(range(2500)))
    answer = explorer.execute("select id from bronze.events order by id")
    assert answer.fetchmany(2) == [(0,), (1,)]
    assert [number for (number,) in answer] == list(range(2, 2500))
    assert answer.fetchone() is None
    assert explorer.execute("from bronze.events").arrow().num_rows == 2500


def test_letters_have_their_status_as_soon_as_it_is_written_down_what_became_of_them(
    lake: SmallLake, explorer: Explorer
) -> None:
    lake.make("dead_letters", "events", letters_schema())
    asks = "explain select status from dead_letters.events"
    assert "EMPTY_RESULT" in str(explorer.execute(asks).fetchall())
    lake.make("dead_letters", "resolutions", resolutions_schema())
    assert "EMPTY_RESULT" not in str(explorer.execute(asks).fetchall())


def test_a_view_of_ops_follows_a_column_that_its_contract_renames(lake: SmallLake, explorer: Explorer) -> None:
    times = ("_arrived_at", "_ingested_at", "_merged_at", "at")
    columns = {"_source": pa.string(), "_position": pa.int64(), "_batch": pa.string(), "_contract": pa.string()}
    shape = pa.schema({**columns, **{name: pa.timestamp("us", "UTC") for name in times}})
    tables = [lake.make(namespace, "events", shape) for namespace in ("bronze", "silver")]

    def say(event_time: str) -> None:
        with tables[0].refresh().transaction() as change:
            change.set_properties({"smelter.contract": json.dumps({"silver": {"event_time": event_time}})})

    say("at")
    asks = "select count(event_at) from ops.delays"
    assert explorer.execute(asks).fetchall() == [(0,)]
    for table in tables:
        with table.refresh().update_schema() as change:
            change.rename_column("at", "happened_at")
    say("happened_at")
    assert explorer.execute(asks).fetchall() == [(0,)]
