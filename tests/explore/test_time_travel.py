"""The lake as it was: at a time, or at a snapshot."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from pyiceberg.table import Table
from pyiceberg.types import StringType
from small_lakes import SmallLake, Smelt, metadata_file

from smelter.errors import Refused, WrongUsage
from smelter.explore import connect


def moment() -> datetime:
    """A moment between two commits."""
    time.sleep(0.01)
    now = datetime.now(UTC)
    time.sleep(0.01)
    return now


def newest(table: Table) -> int:
    snapshot = table.refresh().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def ids(lake: SmallLake, at: datetime | str | int | None, table: str = "bronze.events") -> list[int]:
    with connect(lake.path, at=at) as explorer:
        return [number for (number,) in explorer.execute(f"select id from {table} order by id").fetchall()]


def test_every_table_is_seen_as_it_was_at_a_time(lake: SmallLake) -> None:
    events, silver = lake.with_events([1, 2]), lake.make("silver", "events")
    then = moment()
    lake.append(events, [3])
    lake.append(silver, [1])
    assert ids(lake, then) == [1, 2]
    assert ids(lake, then, "silver.events") == []
    assert ids(lake, then, "lake.bronze.events") == [1, 2]
    assert ids(lake, None) == [1, 2, 3]
    assert ids(lake, then.isoformat()) == [1, 2]
    assert ids(lake, then.replace(tzinfo=None).isoformat()) == [1, 2], "without an offset it is UTC"
    assert ids(lake, "1h") == [], "there was nothing an hour ago"


def test_a_snapshot_is_named_by_its_number_and_other_tables_are_of_its_time(lake: SmallLake) -> None:
    events, silver = lake.with_events([1]), lake.make("silver", "events")
    moment()
    lake.append(silver, [1])
    moment()
    lake.append(events, [2])
    second = newest(events)
    moment()
    lake.append(silver, [2])
    lake.append(events, [3])
    assert ids(lake, second) == ids(lake, str(second)) == [1, 2]
    assert ids(lake, second, "silver.events") == [1]
    with pytest.raises(Refused, match=r"no table has a snapshot 12345: there never was one, or it was expired"):
        ids(lake, 12345)


def test_columns_are_those_of_the_time(lake: SmallLake) -> None:
    events = lake.with_events([1])
    then = moment()
    with events.update_schema() as change:
        change.rename_column("name", "called")
        change.add_column("city", StringType())
    events.refresh()
    with connect(lake.path, at=then) as explorer:
        assert explorer.execute("from bronze.events").columns == ["id", "name"]
    with connect(lake.path) as explorer:
        assert explorer.execute("from bronze.events").columns == ["id", "called", "city"]


def test_a_question_of_the_past_answers_the_same_after_later_commits(lake: SmallLake) -> None:
    events = lake.with_events([1])
    with connect(lake.path, at=moment()) as explorer:
        lake.append(events, [2])
        assert explorer.execute("select count(*) from bronze.events").fetchall() == [(1,)]
        counted = explorer.execute("select rows from ops.tables where \"table\" = 'bronze.events'").fetchall()
        assert counted == [(1,)]
        assert explorer.execute("select count(*) from ops.snapshots").fetchall() == [(1,)]


def test_what_was_rolled_back_is_seen_as_people_saw_it(lake: SmallLake) -> None:
    events = lake.with_events([1])
    first = newest(events)
    lake.append(events, [2])
    before = moment()
    events.refresh().manage_snapshots().set_current_snapshot(first).commit()
    after = moment()
    lake.append(events, [3])
    assert ids(lake, before) == [1, 2]
    assert ids(lake, after) == [1]
    assert ids(lake, None) == [1, 3]


def test_a_time_whose_snapshot_was_expired_is_refused_and_never_answered_by_another(lake: SmallLake) -> None:
    events = lake.with_events([1])
    first, then = newest(events), moment()
    lake.append(events, [2])
    middle, later = newest(events), moment()
    lake.append(events, [3])
    events.refresh().maintenance.expire_snapshots().by_id(first).commit()
    with pytest.raises(Refused, match=r"bronze\.events cannot be seen as it was then: .* expired; the oldest") as told:
        ids(lake, then)
    assert told.value.next_step == "smelt maintain snapshots bronze.events"
    assert ids(lake, later) == [1, 2]
    events.refresh().maintenance.expire_snapshots().by_id(middle).commit()
    with pytest.raises(Refused, match="expired"):
        ids(lake, later)


def test_a_gap_in_the_history_is_no_ground_to_answer_by_what_was_before_it(lake: SmallLake) -> None:
    events = lake.with_events([1])
    lake.append(events, [2])
    middle, then = newest(events), moment()
    lake.append(events, [3])
    events.refresh().maintenance.expire_snapshots().by_id(middle).commit()
    log = json.loads(metadata_file(events).read_text())["snapshot-log"]
    assert len(log) == 2, "PyIceberg keeps the entry before the gap"
    with pytest.raises(Refused, match="expired"):
        ids(lake, then)


def test_other_tables_can_be_asked_where_one_was_expired(lake: SmallLake) -> None:
    events, silver = lake.with_events([1]), lake.make("silver", "events")
    lake.append(silver, [7])
    first, then = newest(events), moment()
    lake.append(events, [2])
    events.refresh().maintenance.expire_snapshots().by_id(first).commit()
    assert ids(lake, then, "silver.events") == [7]
    with connect(lake.path, at=then) as explorer:
        assert "bronze.events cannot be seen as it was then" in explorer.troubles[0]


@pytest.mark.parametrize("later", [0, 1], ids=["two commits", "three commits"])
def test_what_a_rollback_left_behind_is_refused_once_it_was_expired(lake: SmallLake, later: int) -> None:
    """The history goes from a snapshot to an older one, and nobody tells any more what was between."""
    events = lake.with_events([1])
    first, kept = newest(events), [1]
    if later:
        lake.append(events, [2])
        kept = [1, 2]
    before = moment()
    lake.append(events, [3])
    gone, then = newest(events), moment()
    assert ids(lake, then) == [*kept, 3]
    events.refresh().manage_snapshots().set_current_snapshot(first).commit()
    after = moment()
    events.refresh().maintenance.expire_snapshots().by_id(gone).commit()
    for refused in (before, then):
        with pytest.raises(Refused, match="expired"):
            ids(lake, refused)
    assert ids(lake, after) == [1]


def test_a_history_that_begins_with_a_rollback_does_not_begin_empty(lake: SmallLake) -> None:
    """As Iceberg's own expiry leaves it: it takes away what is told of the time before what it expired."""
    events = lake.with_events([1])
    first, then = newest(events), moment()
    lake.append(events, [2])
    gone = newest(events)
    events.refresh().manage_snapshots().set_current_snapshot(first).commit()
    after = moment()
    events.refresh().maintenance.expire_snapshots().by_id(gone).commit()
    file = metadata_file(events.refresh())
    facts = json.loads(file.read_text())
    facts["snapshot-log"] = facts["snapshot-log"][-1:]
    file.write_text(json.dumps(facts))
    with pytest.raises(Refused, match="expired"):
        ids(lake, then)
    assert ids(lake, after) == [1]


def test_the_command_asks_another_table_and_says_which_one_is_not_kept(lake: SmallLake, smelt: Smelt) -> None:
    events, silver = lake.with_events([1]), lake.make("silver", "events")
    lake.append(silver, [7])
    first, then = newest(events), moment()
    lake.append(events, [2])
    events.refresh().maintenance.expire_snapshots().by_id(first).commit()
    done = smelt("sql", "select id from silver.events", "--format", "csv", "--at", then.isoformat())
    assert (done.code, done.out) == (0, "id\n7\n")
    assert done.err.startswith("note: bronze.events cannot be seen as it was then")
    assert smelt("sql", "--export", "copy", "--at", then.isoformat()).code == 3
    assert smelt("sql", "--export", "copy", "--at", then.isoformat(), "--table", "silver.events").code == 0


def test_a_time_before_the_first_rows_is_said(lake: SmallLake, smelt: Smelt) -> None:
    lake.with_events([1])
    done = smelt("sql", "select id from bronze.events", "--format", "csv", "--at", "2h")
    assert (done.code, done.out, done.err) == (0, "id\n", "note: at 2h no table had any rows yet\n")
    assert smelt("sql", "from bronze.events", "--at", "now").err == ""


def test_the_future_is_not_known(lake: SmallLake) -> None:
    with pytest.raises(WrongUsage, match="is in the future"):
        connect(lake.path, at=datetime.now(UTC) + timedelta(hours=1))


def test_the_command_takes_a_time_or_a_snapshot(lake: SmallLake, smelt: Smelt) -> None:
    events = lake.with_events([1, 2])
    snapshot = newest(events)
    lake.append(events, [3])
    query = ("sql", "select count(*) as n from bronze.events", "--format", "csv", "--at")
    assert smelt(*query, str(snapshot)).out == "n\n2\n"
    assert smelt(*query, "1s").code == 0
    assert "no table has a snapshot 7" in smelt(*query, "7").err
