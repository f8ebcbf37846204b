"""Tables are looked after by Spark: rows stay what they are, whatever is killed and whoever else is at work."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from conftest import NewShed
from sheds import Shed, later, step

from bronze.accounts import check
from bronze.crashes import Crash, crash_at, do_at
from smelter.errors import Refused
from smelter.explore import connect
from smelter.lake.catalog import local_path
from smelter.lake.home import BRONZE, DEAD_LETTERS, SILVER
from smelter.lake.lease import lease
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.care import run
from smelter.maintenance.engine import Engine
from smelter.maintenance.journal import MOST_FAILURES, history, retry, set_aside
from smelter.maintenance.manifests import MOST_MANIFESTS
from smelter.maintenance.steps import Step
from smelter.maintenance.subjects import subjects_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
SHORTEST = "snapshots: 1m"
DYING = """
import os, signal, sys
from pathlib import Path
from smelter.lake.home import Lake
from smelter.lake.session import jvm_of
from smelter.maintenance.care import Hooks, run
from smelter.maintenance.engine import Engine
from smelter.maintenance.subjects import subjects_of
from smelter.settings import Settings

lake = Lake.at(Settings(lake=Path(sys.argv[1])))

def die(point):
    if point == "before_compaction":
        os.kill(jvm_of(engine._session), signal.SIGKILL)

with Engine(lake) as engine:
    subjects = subjects_of(lake, ["bronze.orders", "dead_letters.orders"])
    for report in run(lake, subjects, engine, "maintain:20260101-120000-0a1b", hooks=Hooks(reach=die)):
        print(report.table, report.outcome)
print("ended")
"""


def forget_last_commit(shed: Shed) -> None:
    """What kill -9 leaves between the commits of a batch and Spark's log of it."""
    last = max(int(path.name) for path in (shed.checkpoint / "commits").glob("[0-9]*"))
    for name in (str(last), f".{last}.crc"):
        (shed.checkpoint / "commits" / name).unlink(missing_ok=True)


def expire_like_a_stranger(shed: Shed, spark: SparkSession) -> None:
    for namespace in (BRONZE, DEAD_LETTERS):
        words = f"table => 'lake.{namespace}.{shed.name}', older_than => TIMESTAMP '2100-01-01 00:00:00'"
        spark.sql(f"CALL lake.system.expire_snapshots({words}, retain_last => 1)").collect()
        assert shed.snapshots(namespace) == 1


def test_small_files_become_one_and_no_row_changes(make: NewShed) -> None:
    shed = make()
    shed.commit(6)
    before = shed.rows(), shed.rows(DEAD_LETTERS)
    reports = shed.care(BRONZE, DEAD_LETTERS)
    assert [step(one, Step.COMPACT) for one in reports] == ["files 6 → 1"] * 2
    assert (shed.rows(), shed.rows(DEAD_LETTERS)) == before
    assert [one.outcome for one in shed.plan(BRONZE, DEAD_LETTERS)] == ["nothing"] * 2
    assert reconcile(shed.lake, shed.name).is_balanced


def test_duckdb_reads_the_same_rows_before_and_after(make: NewShed) -> None:
    shed = make()
    shed.commit(6)
    question = f"select * exclude (_ingested_at) from bronze.{shed.name} order by all"
    with connect(shed.lake.root) as explorer:
        before = explorer.execute(question).fetchall()
        shed.care(now=later(days=2))
        assert explorer.execute(question).fetchall() == before


@pytest.mark.parametrize("by", ["maintain run", "a stranger"])
def test_after_a_crash_before_the_commit_log_and_the_shortest_retention_no_row_is_doubled(
    make: NewShed, spark: SparkSession, by: str
) -> None:
    shed = make(maintenance=SHORTEST)
    shed.commit(11)
    shed.add("last.json")
    shed.drain(spark)
    forget_last_commit(shed)
    reports = shed.care(BRONZE, DEAD_LETTERS, now=later(seconds=61))
    assert [one.outcome for one in reports] == ["done", "done"]
    assert shed.snapshots() <= 3
    if by == "a stranger":
        expire_like_a_stranger(shed, spark)
    shed.add("new.json")
    shed.drain(spark)
    check(shed)
    forget_last_commit(shed)
    shed.drain(spark)
    check(shed)


def test_silver_goes_on_from_where_it_was_and_gets_each_row_once(make: NewShed, spark: SparkSession) -> None:
    shed = make(maintenance=SHORTEST)
    shed.commit(6)
    shed.build_silver()
    shed.commit(12)
    shed.care(BRONZE, SILVER, now=later(hours=2))
    assert shed.snapshots() > 12, "silver has not read the last twelve"
    shed.build_silver()
    assert len(shed.rows(SILVER)) == len(shed.rows()) == 36
    shed.care(BRONZE, SILVER, now=later(hours=2))
    assert shed.snapshots() <= 3
    shed.commit()
    shed.build_silver()
    assert len(shed.rows(SILVER)) == 38


POINTS = ("before_compaction", "compacted", "before_expiry", "expired")


@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_the_rows_are_all_there_and_the_next_run_does_the_rest(make: NewShed, point: str) -> None:
    shed = make(maintenance=SHORTEST)
    shed.commit(11)
    before = shed.rows()
    with pytest.raises(Crash):
        shed.care(now=later(hours=2), reach=crash_at(point))
    assert shed.rows() == before
    shed.care_for_bronze(now=later(hours=4))
    assert shed.rows() == before
    assert (shed.files(), reconcile(shed.lake, shed.name).is_balanced) == (1, True)


@pytest.mark.parametrize("point", POINTS)
def test_a_batch_that_is_committed_in_the_middle_of_it_is_not_lost(make: NewShed, point: str) -> None:
    shed = make(maintenance=SHORTEST)
    shed.commit(11)
    shed.care_for_bronze(now=later(hours=2), reach=do_at(point, lambda: shed.commit(2)))
    assert len(shed.rows()) == 2 * (11 + 2)
    check(shed)


def test_manifests_are_packed_when_there_are_many(make: NewShed) -> None:
    shed = make()
    shed.commit(MOST_MANIFESTS + 1)
    (report,) = shed.plan()
    assert step(report, Step.MANIFESTS) == f"manifests {MOST_MANIFESTS + 1} → 1"
    before = shed.rows()
    shed.care(steps=[Step.MANIFESTS])
    assert len(shed.table().current_snapshot().manifests(shed.table().io)) == 1
    assert shed.rows() == before


def test_rows_that_somebody_deleted_beside_their_file_stay_deleted(make: NewShed, spark: SparkSession) -> None:
    shed = make()
    shed.commit(6)
    name = f"lake.bronze.{shed.name}"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    spark.sql(f"DELETE FROM {name} WHERE id % 2 = 0")
    before = shed.rows()
    assert shed.plan()[0].numbers["delete_files"] > 0
    report = shed.care_for_bronze()
    assert shed.rows() == before
    assert report.numbers["delete_files"] == 0


def test_a_lease_that_another_holds_is_waited_for_then_the_table_is_reported_and_the_others_are_done(
    make: NewShed,
) -> None:
    shed = make()
    shed.commit(6)
    with lease(shed.lake, BRONZE, shed.name, "somebody"):
        bronze, letters = shed.care(BRONZE, DEAD_LETTERS, wait=0)
    assert (bronze.outcome, letters.outcome) == ("postponed", "done")
    assert isinstance(bronze.problem, Refused)
    assert "being changed by somebody" in bronze.problem.what


def test_every_run_is_written_down_with_what_it_was_for_and_what_it_left_alone(make: NewShed) -> None:
    shed = make()
    shed.commit(6)
    shed.care_for_bronze()
    (entry,) = history(shed.lake, f"bronze.{shed.name}")
    (done,) = entry.steps
    assert (entry.outcome, done.step, done.said, done.before, done.after) == (
        "done",
        "compact",
        "files 6 → 1",
        {"files": 6},
        {"files": 1},
    )
    with connect(shed.lake.root) as explorer:
        asked = f"select run, outcome, steps[1].why from ops.maintenance where \"table\" = 'bronze.{shed.name}'"
        assert explorer.execute(asked).fetchall() == [(entry.run, "done", "6 small files of 6")]


def test_after_five_failures_in_a_row_a_table_is_set_aside_until_somebody_says_otherwise(make: NewShed) -> None:
    shed = make()
    shed.commit(6)
    table = f"bronze.{shed.name}"
    file = local_path(next(iter(shed.table().scan().plan_files())).file.file_path)
    lost = file.rename(file.with_suffix(".lost"))
    outcomes = [shed.care()[0].outcome for _ in range(MOST_FAILURES + 2)]
    assert outcomes == ["failed"] * MOST_FAILURES + ["set_aside"] * 2
    assert set_aside(history(shed.lake)) == {table: f"1 data file of {table} is gone"}
    lost.rename(file)
    assert shed.care()[0].outcome == "set_aside", "also when the reason is gone"
    retry(shed.lake, table, "maintain:20260101-120000-0a1b")
    assert shed.care_for_bronze().outcome == "done"


def test_a_table_that_somebody_else_changes_is_waited_for_in_vain_as_often_as_need_be(make: NewShed) -> None:
    shed = make()
    shed.commit(6)
    with lease(shed.lake, BRONZE, shed.name, "somebody"):
        outcomes = [shed.care(wait=0)[0].outcome for _ in range(MOST_FAILURES + 1)]
    assert outcomes == ["postponed"] * (MOST_FAILURES + 1)
    assert shed.care_for_bronze().outcome == "done"


def test_a_table_whose_turn_has_failed_is_free_for_others(make: NewShed) -> None:
    shed = make()
    shed.commit(6)
    file = local_path(next(iter(shed.table().scan().plan_files())).file.file_path)
    lost = file.rename(file.with_suffix(".lost"))
    with Engine(shed.lake, shed.spark) as engine:
        (report,) = run(shed.lake, shed.subjects(), engine, "maintain:20260101-120000-0a1b")
        assert report.outcome == "failed"
        assert (shed.lake.root / "run" / "leases" / f"bronze.{shed.name}").read_bytes() == b"", "nobody holds it"
    lost.rename(file)  # other tests read every table of this lake


def test_who_waits_for_another_runs_session_holds_no_table_and_waits_once(shed: Shed) -> None:
    shed.commit(6)
    subjects = shed.subjects(BRONZE, DEAD_LETTERS)
    with lease(shed.lake, "maintenance", "session", "another"), Engine(shed.lake, wait_seconds=0.5) as engine:
        started = time.monotonic()
        reports = list(run(shed.lake, subjects, engine, "maintain:20260101-120000-0a1b"))
        waited = time.monotonic() - started
    assert [one.outcome for one in reports] == ["postponed"] * 2
    assert "being changed by another" in str(reports[1].problem)
    assert waited < 5 * 0.5, "of the session's wait; a lease is waited for a minute"
    assert not (shed.lake.root / "run" / "leases" / "bronze.orders").exists()


def test_a_jvm_that_dies_costs_its_own_table_a_turn_and_the_others_are_postponed(shed: Shed) -> None:
    shed.commit(6)
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(shed.lake.root)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["bronze.orders failed", "dead_letters.orders postponed", "ended"], done.stderr
    assert set_aside(history(shed.lake)) == {}


def test_the_tables_of_the_platform_itself_are_looked_after(make: NewShed) -> None:
    shed = make()
    shed.commit()
    for number in range(6):
        retry(shed.lake, "nobody's", f"maintain:20260101-120000-000{number}")
    (subject,) = subjects_of(shed.lake, ["ops.maintenance"])
    with Engine(shed.lake, shed.spark) as engine:
        (report,) = run(shed.lake, [subject], engine, "maintain:20260101-120000-0a1b")
    assert step(report, Step.COMPACT).endswith("→ 1")
    assert [one.run[-4:] for one in history(shed.lake, "nobody's")] == [f"000{number}" for number in range(6)]
