"""What a run changes, and what it leaves alone."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from conftest import NewSilver
from recount import sessions
from silvers import MIDNIGHT, Event, Silver, away, gold_rows, gold_table, minute

from smelter.errors import Refused
from smelter.gold.build import Hooks, build_gold
from smelter.gold.models import Model
from smelter.gold.plan import Plan, Step, plan_of
from smelter.gold.standing import gold_standing
from smelter.lake.derived import move_bookmark, spark_name
from smelter.lake.home import GOLD, SILVER
from smelter.lake.lease import lease
from smelter.lake.tables import find_table

pytestmark = pytest.mark.jvm
DAY = 1440
TUMBLING = "-- window: tumbling 1h\n-- grain: window_start\n-- partition: days(window_start)"
COUNT = "select window_start, count(*) as events from source group by all"


def hours(silver: Silver, model: Model) -> dict[float, int]:
    """The rows of a model of hours: hours after midnight, and events."""
    return {(start - MIDNIGHT) / timedelta(hours=1): count for start, count in gold_rows(silver, model)}


def plan(silver: Silver, model: Model) -> Plan:
    return plan_of(model, silver.contract, silver.table, gold_table(silver, model))


def test_a_late_row_corrects_its_window_and_files_of_other_days_are_not_opened(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1), minute(DAY + 1), minute(DAY + 61), minute(2 * DAY + 30))
    model, visits = silver.model(TUMBLING, COUNT), silver.shipped("sessions")
    assert [one.step for one in silver.gold(model, visits).built] == [Step.WHOLE, Step.WHOLE]
    tables = (silver.table, gold_table(silver, model), gold_table(silver, visits))
    files = [task.file.file_path for table in tables for task in table.scan().plan_files()]
    assert len(files) == 9
    silver.append(minute(DAY + 2))
    with away(file for file in files if "_day=2026-11-17" not in file):
        report = silver.gold(model, visits)
    for built in report.built:
        assert (built.step, built.written, built.removed, built.windows) == (Step.WINDOWS, 1, 0, 1)
    assert hours(silver, model) == {0: 1, 24: 2, 25: 1, 48: 1}
    assert gold_rows(silver, visits) == sessions(silver.rows.values())


def test_a_row_that_moves_leaves_its_old_window_and_the_last_one_takes_it_along(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1, id="mover"), minute(61))
    model = silver.model(TUMBLING, COUNT)
    silver.built(model)
    silver.upsert(minute(121, id="mover"))
    built = silver.built(model)
    assert (built.written, built.removed, built.windows) == (1, 1, 1)  # the neighbour was only copied to a new file
    assert hours(silver, model) == {1: 1, 2: 1}
    silver.upsert(Event("mover", None))
    assert (silver.built(model).removed, hours(silver, model)) == (1, {1: 1})


def test_what_changes_no_answer_moves_the_bookmark_and_writes_no_file(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1, type="purchase", product="tea"))
    model = silver.shipped("revenue_per_product_day")
    silver.built(model)
    before = gold_table(silver, model).current_snapshot()
    silver.append(minute(2))
    assert silver.built(model).written == 0
    after = gold_table(silver, model).current_snapshot()
    assert (after.parent_snapshot_id, after.summary.get("added-data-files")) == (before.snapshot_id, None)
    assert plan(silver, model).step is Step.NOTHING
    silver.sql("call lake.system.rewrite_data_files(table => '{}', options => map('rewrite-all', 'true'))")
    assert plan(silver, model).step is Step.BOOKMARK
    silver.append(minute(3, type="purchase", product="tea"))
    assert plan(silver, model).takes_rows_out is False  # nor does a compaction among the appends
    silver.built(model)
    assert [row[2] for row in gold_rows(silver, model)] == [2]


def test_a_session_is_bridged_split_and_gone(new_silver: NewSilver) -> None:
    """And one that begins where another ends stays whole: it is not computed in part."""
    moment = timedelta(microseconds=1)
    silver = new_silver().append(minute(0, id="first"), minute(18, id="last"), minute(9, user="bob"))
    silver.append(*(Event(f"c{place}", MIDNIGHT + place * timedelta(minutes=10), user="cid") for place in (1, 2)))
    silver.append(Event("c3", MIDNIGHT + timedelta(minutes=20) + moment, user="cid"))
    model = silver.shipped("sessions")
    silver.built(model)
    silver.append(minute(9, id="bridge"), minute(5, user="cid"))
    silver.built(model)
    assert gold_rows(silver, model) == sessions(silver.rows.values())
    assert [(row[0], row[5]) for row in gold_rows(silver, model)] == [("ann", 3), ("bob", 1), ("cid", 2), ("cid", 2)]
    silver.upsert(minute(9, id="bridge", user="bob")).delete("last")
    silver.built(model)
    assert gold_rows(silver, model) == sessions(silver.rows.values())
    assert [(row[0], row[5]) for row in gold_rows(silver, model)] == [("ann", 1), ("bob", 2), ("cid", 2), ("cid", 2)]


def test_rows_that_come_during_a_run_are_in_the_next_one(new_silver: NewSilver) -> None:
    """A run reads silver at the one snapshot that its bookmark will name."""
    silver = new_silver().append(minute(1))
    model = silver.model(TUMBLING, COUNT)

    def build() -> None:
        hooks = Hooks(say=lambda _line: silver.append(minute(2)) and None)  # said when all is planned
        report = build_gold(silver.lake, silver.contract, [model], hooks=hooks, spark=silver.spark)
        assert report.failed == ()

    build()
    assert hours(silver, model) == {0: 1}
    build()
    assert hours(silver, model) == {0: 2}
    silver.built(model)
    assert hours(silver, model) == {0: 3}


def test_a_date_is_its_midnight(new_silver: NewSilver) -> None:
    silver = new_silver(time="date").append(Event("a", date(2026, 11, 16)), Event("b", date(2026, 11, 17)))
    model = silver.model(TUMBLING, COUNT)
    visits = silver.model(
        "-- window: session gap 1d by user_id\n-- grain: window_start, user_id",
        "select window_start, window_end, user_id, count(*) as n from source group by all",
    )
    silver.gold(model, visits)
    silver.append(Event("c", date(2026, 11, 17)), Event("d", date(2026, 11, 18), user=None))
    silver.gold(model, visits)
    assert hours(silver, model) == {0: 1, 24: 2, 48: 1}
    assert sorted(row[-1] for row in gold_rows(silver, visits)) == [1, 1, 2]


def test_without_a_window_all_of_it_is_computed_when_silver_changed(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1), Event("never", None))
    model = silver.model(
        "-- window: none\n-- grain: event_type", "select event_type, count(*) as n from source group by 1"
    )
    silver.built(model)
    silver.append(minute(2))
    assert silver.built(model).step is Step.WHOLE
    assert gold_rows(silver, model) == [("page_view", 3)]
    assert silver.built(model).step is Step.NOTHING


def test_a_changed_model_needs_a_rebuild(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1), minute(2, user="bob"))
    model = silver.model(TUMBLING, COUNT)
    silver.built(model)
    changed = silver.model(TUMBLING, COUNT.replace("count(*)", "count(distinct user_id)"), name=model.name)
    with pytest.raises(Refused, match="changed since its rows were made") as refused:
        silver.built(changed)
    assert refused.value.next_step == f"smelt gold {silver.name} --rebuild"
    (standing,) = gold_standing(silver.lake, silver.contract, [changed])
    assert (standing.rows, standing.behind) == (1, None)
    assert "changed since" in standing.rebuild_due
    assert silver.built(changed, rebuild=True).why == "asked for"
    silver.append(minute(3))
    (standing,) = gold_standing(silver.lake, silver.contract, [changed])
    assert (standing.rows, standing.behind, standing.rebuild_due) == (1, 1, "")


def test_a_silver_that_is_another_one_is_read_whole_and_the_report_says_why(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1), minute(61, id="b"))
    model = silver.model(
        TUMBLING, "select window_start, max(event_id) as last, max(amount) as most from source group by 1"
    )
    silver.built(model)
    rows = silver.spark.table(spark_name(SILVER, silver.name)).where("event_id = 'b'").localCheckpoint()
    rows = rows.withColumn("amount", rows["amount"].cast("decimal(12,2)"))
    rows.writeTo(spark_name(SILVER, silver.name)).using("iceberg").createOrReplace()
    assert "replaced" in silver.built(model).why
    assert [row[1] for row in gold_rows(silver, model)] == ["b"]
    silver.sql("alter table {} alter column amount type decimal(14,2)")
    silver.append(minute(62, id="z"))
    assert "of another type" in silver.built(model).why
    assert [row[1] for row in gold_rows(silver, model)] == ["z"]
    read = silver.table.current_snapshot().snapshot_id
    silver.append(minute(2))
    assert plan(silver, model).step is Step.WINDOWS
    silver.table.maintenance.expire_snapshots().by_id(read).commit()
    assert (plan(silver, model).step, "expired" in plan(silver, model).why) == (Step.WHOLE, True)


def test_rows_that_a_stranger_changed_in_place_are_computed_again(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1, user="ann"), minute(2, user="ann"))
    model = silver.model(TUMBLING, "select window_start, max(user_id) as last from source group by 1")
    silver.built(model)
    silver.sql("update {} set user_id = 'bob'")
    assert "not Smelter" in silver.built(model).why
    assert [row[1] for row in gold_rows(silver, model)] == ["bob"]


def test_a_column_that_was_dropped_and_came_back_is_another_one(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1, user="ann"))
    model = silver.model(TUMBLING, "select window_start, max(user_id) as last from source group by 1")
    silver.built(model)
    silver.sql("alter table {} drop column user_id")
    silver.sql("alter table {} add column user_id string")
    move_bookmark(silver.table, {})
    assert "another one under the same name" in silver.built(model).why
    assert [row[1] for row in gold_rows(silver, model)] == [None]


def test_a_column_of_another_type_has_other_values_in_all_windows(new_silver: NewSilver) -> None:
    silver = new_silver()
    silver.sql("alter table {} add column share float")
    silver.append(minute(1))
    silver.sql("update {} set share = cast(0.1 as float)")
    model = silver.model(TUMBLING, "select window_start, max(cast(share as string)) as share from source group by 1")
    silver.built(model)
    silver.sql("alter table {} add column other string")
    move_bookmark(silver.table, {})
    assert silver.built(model).step is Step.BOOKMARK
    silver.sql("alter table {} alter column share type double")
    move_bookmark(silver.table, {})
    assert "of another type" in silver.built(model).why
    assert [row[1] for row in gold_rows(silver, model)] == ["0.10000000149011612"]
    assert silver.built(model).step is Step.NOTHING


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        ("hours(d)", "hours(…) needs a timestamp, and `d` is a date"),
        ("bucket(4, f)", "bucket(…) cannot take a double"),
        ("days(window_start), months(window_start)", "partitioned by `window_start` twice"),
        ("bucket(4, window_start), bucket(8, window_start)", "partitioned by `window_start` twice"),
        ("st", "`st` is a struct, and cannot be partitioned by"),
    ],
)
def test_a_partition_that_cannot_be_is_refused_and_a_mended_one_is_built(
    new_silver: NewSilver, partition: str, said: str
) -> None:
    silver = new_silver().append(minute(1))
    sql = """
        select window_start, max(cast(event_timestamp as date)) as d, avg(cast(amount as double)) as f,
            struct(max(user_id) as u) as st from source group by 1
    """
    header = TUMBLING.replace("days(window_start)", partition)
    odd = silver.model(header, sql)
    with pytest.raises(Refused) as refused:
        silver.built(odd)
    assert said in refused.value.what
    assert find_table(silver.lake, GOLD, odd.name) is None
    assert silver.built(silver.model(TUMBLING, sql, name=odd.name)).written == 1


def test_a_doubled_grain_is_told_also_where_python_has_no_such_time(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1), minute(2))
    sql = "select window_start, timestamp_micros(-70000000000000000) as at, event_id from source"
    with pytest.raises(Refused, match="2 rows for one value of its grain"):
        silver.built(silver.model("-- window: tumbling 10m\n-- grain: window_start, at", sql))


def test_one_model_that_fails_leaves_the_others_built(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1), minute(2, user="bob"))
    good = silver.model(TUMBLING, COUNT)
    bad = {
        "cannot be resolved": silver.model(TUMBLING, "select window_start, max(nothing) as n from source group by 1"),
        "2 rows for one value of its grain: window_start =": silver.model(
            TUMBLING, "select window_start, user_id from source"
        ),
        "would be a map": silver.model(TUMBLING, "select window_start, properties from source"),
        "needs a timestamp or a date": silver.model(
            TUMBLING.replace("days(window_start)", "days(n)"),
            "select window_start, count(*) as n from source group by 1",
        ),
        "being changed by maintenance": silver.model(TUMBLING, COUNT),
    }
    held = bad["being changed by maintenance"]
    with lease(silver.lake, "gold", held.name, "maintenance", 0):
        report = build_gold(silver.lake, silver.contract, [*bad.values(), good], wait_seconds=0, spark=silver.spark)
    assert [one.table for one in report.built] == [f"gold.{good.name}"]
    said = {one.table: str(one.problem) for one in report.failed}
    for text, model in bad.items():
        assert text in said[f"gold.{model.name}"]


def test_a_window_needs_a_time_and_its_names(new_silver: NewSilver) -> None:
    silver = new_silver().append(minute(1))
    model = silver.model(TUMBLING, COUNT)
    timeless = silver.contract.silver.model_copy(update={"event_time": None})
    contract = silver.contract.model_copy(update={"silver": timeless})
    (failed,) = build_gold(silver.lake, contract, [model], spark=silver.spark).failed
    assert "names no event time" in failed.problem.what
    silver.sql("alter table {} add columns (window_end string)")
    silver.append(minute(2))
    with pytest.raises(Refused, match="has a column `window_end` of its own"):
        silver.built(model)
