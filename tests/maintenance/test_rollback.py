"""A table becomes what it was, and whoever makes it goes on from there; what a stream wrote is read again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from conftest import NewShed
from sheds import Shed

from bronze.accounts import check
from bronze.crashes import Crash, crash_at, do_at
from bronze.streams import LIMITS
from dead_letters.boxes import Box
from smelter.bronze.recovery import Recovered, recover, reread
from smelter.bronze.rewind import rehearse, rewind
from smelter.bronze.stream import Hooks
from smelter.errors import Refused, Unreachable
from smelter.lake.derived import move_bookmark
from smelter.lake.home import BRONZE, DEAD_LETTERS, SILVER
from smelter.lake.lease import lease
from smelter.lake.rollback import parse_target
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.journal import history
from smelter.maintenance.rollback import refuse_unless_derived, rollback
from smelter.maintenance.subjects import subjects_of
from smelter.supervise.lock import only_driver

if TYPE_CHECKING:
    from smelter.lake.home import Lake

pytestmark = pytest.mark.jvm
RUN = "maintain:20260101-120000-0a1b"


def newest(shed: Shed, namespace: str = BRONZE) -> int:
    snapshot = shed.table(namespace).metadata.current_snapshot_id
    assert snapshot is not None
    return snapshot


def back(shed: Shed, to: int, namespace: str = BRONZE, hooks: Hooks | None = None) -> Recovered:
    return rewind(shed.lake, shed.contract, LIMITS, namespace, to, hooks, shed.spark)[1]


def test_silver_that_is_rolled_back_reads_again_what_came_since(make: NewShed) -> None:
    shed = make()
    shed.commit(2)
    shed.build_silver()
    first, early = newest(shed, SILVER), shed.rows(SILVER)
    shed.commit(2)
    shed.build_silver()
    everything = [row["id"] for row in shed.rows(SILVER)]
    (subject,) = shed.subjects(SILVER)
    done = rollback(shed.lake, subject, first, RUN)
    assert (done.rows_before, done.rows_after) == (8, 4)
    assert shed.rows(SILVER) == early
    shed.build_silver()
    assert [row["id"] for row in shed.rows(SILVER)] == everything
    assert [one.steps[0].step for one in history(shed.lake, str(subject))] == ["rollback"]


def test_a_moment_means_the_snapshot_that_was_the_table_then(make: NewShed) -> None:
    shed = make()
    shed.commit()
    shed.build_silver()
    first, moment = newest(shed, SILVER), datetime.now(UTC)
    shed.commit()
    shed.build_silver()
    (subject,) = shed.subjects(SILVER)
    assert rollback(shed.lake, subject, moment, RUN).to_snapshot == first
    with pytest.raises(Refused, match="is still there is as old as"):
        rollback(shed.lake, subject, datetime(2020, 1, 1, tzinfo=UTC), RUN)
    with pytest.raises(Refused, match=r"is at snapshot \d+ already"):
        rollback(shed.lake, subject, first, RUN)
    with pytest.raises(Refused, match="has no snapshot 17"):
        rollback(shed.lake, subject, 17, RUN)


@pytest.mark.parametrize("namespace", [BRONZE, DEAD_LETTERS])
def test_what_leaves_a_table_of_the_stream_is_read_again_record_by_record(make: NewShed, namespace: str) -> None:
    shed = make()
    shed.commit(2)
    first = newest(shed, namespace)
    shed.commit(3)
    before = [(row["_source"], row["_position"]) for row in shed.rows(namespace)]
    found = back(shed, first, namespace)
    assert found.files == 3
    assert [(row["_source"], row["_position"]) for row in shed.rows(namespace)] == before
    assert reconcile(shed.lake, shed.name).is_balanced
    check(shed)
    shed.commit()
    check(shed)


@pytest.mark.parametrize("point", ["recovery_begun", "rolled_back", "planned", "prepared", "committed"])
def test_killed_anywhere_the_stream_is_refused_until_a_recovery_has_read_everything_again(
    make: NewShed, point: str
) -> None:
    shed = make()
    shed.commit(2)
    first = newest(shed)
    shed.commit(3)
    with pytest.raises(Crash):
        back(shed, first, hooks=Hooks(reach=crash_at(point)))
    with pytest.raises(Refused, match="a recovery was begun and not finished"):
        shed.drain_here()
    recover(shed.lake, shed.contract, LIMITS, spark=shed.spark)
    assert reconcile(shed.lake, shed.name).is_balanced
    check(shed)


def test_killed_after_a_file_that_was_read_again_left_a_recovery_reads_it_by_its_last_name(make: NewShed) -> None:
    shed = make()
    shed.commit()
    first = newest(shed)
    path = shed.landing / "00001.json"
    path.write_bytes(b'{"id": 900}\n{"id": 901}\n')
    reread(shed.lake, shed.contract, LIMITS, path)
    before = [(row["_source"], row["_position"]) for row in shed.rows()]
    with pytest.raises(Crash):
        back(shed, first, hooks=Hooks(reach=crash_at("rolled_back")))
    recover(shed.lake, shed.contract, LIMITS, spark=shed.spark)
    assert [(row["_source"], row["_position"]) for row in shed.rows()] == before
    assert reconcile(shed.lake, shed.name).is_balanced


def test_a_snapshot_that_is_not_behind_the_newest_is_no_target_for_a_table_of_the_stream(make: NewShed) -> None:
    shed = make()
    shed.commit()
    first = newest(shed)
    shed.commit()
    other_line = newest(shed)
    back(shed, first)
    with pytest.raises(Refused, match="would come back"):
        back(shed, other_line)


def test_a_run_over_letters_is_waited_for_before_anything_has_begun(make: NewShed) -> None:
    shed = make()
    shed.commit()
    first = newest(shed)
    shed.commit()
    with (
        lease(shed.lake, DEAD_LETTERS, shed.name, "a replay"),
        pytest.raises(Refused, match="being changed by a replay"),
    ):
        rewind(shed.lake, shed.contract, LIMITS, BRONZE, first, spark=shed.spark, wait_seconds=0)
    shed.drain_here()


def test_a_commit_of_a_stranger_in_the_middle_is_told_with_the_way_out(make: NewShed) -> None:
    shed = make()
    shed.commit(2)
    first = shed.table().metadata.snapshots[0].snapshot_id
    meddle = Hooks(reach=do_at("recovery_begun", lambda: move_bookmark(shed.table(), {"somebody": "else"})))
    with pytest.raises(Unreachable) as refusal:
        back(shed, first, hooks=meddle)
    assert refusal.value.next_step == f"smelt ingest {shed.name} --recover, then roll back again"
    recover(shed.lake, shed.contract, LIMITS, spark=shed.spark)
    check(shed)


def test_compaction_in_between_takes_nothing_with_it(make: NewShed) -> None:
    shed = make()
    shed.commit(2)
    first = newest(shed)
    shed.commit(4)
    shed.care_for_bronze()
    assert back(shed, first).files == 4
    check(shed)


def test_what_could_not_be_read_again_is_not_rolled_back(make: NewShed) -> None:
    shed = make()
    shed.commit()
    first = newest(shed)
    shed.commit()
    before = shed.rows()
    path = shed.landing / "00002.json"
    data = path.read_bytes()
    path.unlink()
    with pytest.raises(Refused, match="1 of 1 files of what would leave are gone"):
        rehearse(shed.lake, BRONZE, shed.name, first)
    with pytest.raises(Refused, match="1 of 1 files of what would leave are gone"):
        back(shed, first)
    path.write_bytes(data + b"\n")
    with pytest.raises(Refused, match="gone, or were written again since"):
        back(shed, first)
    assert shed.rows() == before
    shed.drain_here()


def test_a_living_driver_keeps_its_tables(make: NewShed) -> None:
    shed = make()
    shed.commit(2)
    first = shed.table().metadata.snapshots[0].snapshot_id
    with (
        only_driver(shed.lake.run_folder(shed.name), shed.name),
        pytest.raises(Refused, match="already has a driver"),
    ):
        back(shed, first)


def test_a_lease_that_another_holds_keeps_the_table(make: NewShed) -> None:
    shed = make()
    shed.commit(2)
    shed.build_silver()
    first = newest(shed, SILVER)
    shed.commit()
    shed.build_silver()
    (subject,) = shed.subjects(SILVER)
    with (
        lease(shed.lake, SILVER, shed.name, "somebody"),
        pytest.raises(Refused, match="being changed by somebody"),
    ):
        rollback(shed.lake, subject, first, RUN, wait_seconds=0)


def test_letters_that_came_home_since_are_not_rolled_back(spark_lake: Lake, make: NewShed) -> None:
    shed = make()
    box = Box(spark_lake, shed.contract)
    box.arrive("a.json", {"id": 1}, {"id": 2, "coupon": "X"})
    first = newest(shed)
    box.become(fields="  coupon: {type: string}\n")
    run = box.replayed()
    with pytest.raises(Refused, match="has brought letters home since then"):
        back(shed, first)
    box.undo(run)
    with pytest.raises(Refused, match="would come back"):
        back(shed, first)


@pytest.mark.parametrize(
    ("table", "reingest", "said"),
    [
        ("bronze.{}", False, "written by a stream"),
        ("dead_letters.{}", False, "written by a stream"),
        ("dead_letters.resolutions", True, "never rolled back: it tells which letters are in bronze"),
        ("silver.{}", True, "nothing of silver.* comes from files"),
    ],
)
def test_each_table_says_how_it_can_be_rolled_back(make: NewShed, table: str, reingest: bool, said: str) -> None:
    shed = make()
    shed.commit()
    shed.build_silver()
    (subject,) = subjects_of(shed.lake, [table.format(shed.name)])
    with pytest.raises(Refused, match=said):
        refuse_unless_derived(subject, reingest=reingest)


def test_a_target_is_a_number_or_a_moment() -> None:
    assert parse_target("123") == 123
    assert parse_target("2026-01-31T12:00:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert parse_target("2026-01-31 12:00") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert parse_target("yesterday") is None
