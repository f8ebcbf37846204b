"""What a table needs is told from its metadata, without a JVM; what somebody needs is not touched."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep

import pytest
from sheds import Shed, contract_of, later, step

from smelter.errors import Refused
from smelter.lake.bookmarks import Bookmark, bookmark_summary
from smelter.lake.catalog import local_path
from smelter.lake.commits import TOKEN, ancestors, told
from smelter.lake.derived import move_bookmark
from smelter.lake.home import BRONZE, DEAD_LETTERS, OPS, SILVER, Lake
from smelter.lake.removal import remove_batch
from smelter.lake.rollback import roll_back
from smelter.lake.schema import bronze_schema
from smelter.lake.sources import unit_of
from smelter.lake.tables import ensure_table, load_table
from smelter.maintenance.compact import FEWEST_IN_OPEN
from smelter.maintenance.holds import READER_SECONDS, expiry_of
from smelter.maintenance.steps import Step
from smelter.maintenance.subjects import subjects_of


def test_a_young_lake_needs_nothing(shed: Shed) -> None:
    shed.commit(3)
    assert [(one.outcome, one.steps, one.kept) for one in shed.plan(BRONZE, DEAD_LETTERS)] == [("nothing", (), ())] * 2


def test_many_small_files_are_packed_into_one(shed: Shed) -> None:
    shed.commit(6)
    (report,) = shed.plan()
    assert step(report, Step.COMPACT) == "files 6 → 1"
    assert report.numbers["small_files"] == 6


def test_four_small_files_are_left_as_they_are(shed: Shed) -> None:
    shed.commit(4)
    assert shed.plan()[0].outcome == "nothing"


def test_files_that_a_running_stream_has_just_written_are_left_for_later(shed: Shed) -> None:
    shed.commit(8)
    (now,) = shed.plan(live=True)
    assert step(now, Step.COMPACT) == ""
    assert now.kept == ("8 files of bronze.orders, a running stream's newest: packed later",)
    (tomorrow,) = shed.plan(live=True, now=later(days=1))
    assert step(tomorrow, Step.COMPACT) == "files 8 → 1"


def test_a_partition_that_a_stream_still_fills_is_packed_only_when_many_files_have_rested(shed: Shed) -> None:
    quiet = timedelta(minutes=10)
    shed.commit(FEWEST_IN_OPEN - 1)
    few = datetime.now(UTC)
    shed.commit(1)
    many = datetime.now(UTC)
    shed.commit(2)
    assert step(shed.plan(live=True, now=few + quiet)[0], Step.COMPACT) == ""
    (report,) = shed.plan(live=True, now=many + quiet)
    assert step(report, Step.COMPACT) == f"files {FEWEST_IN_OPEN + 2} → 3"
    assert report.kept == ("2 files of bronze.orders, a running stream's newest: packed later",)


def test_snapshots_go_by_age_and_the_newest_stays(shed: Shed) -> None:
    shed.commit(12)
    assert step(shed.plan(now=later(hours=23))[0], Step.EXPIRE) == ""
    assert step(shed.plan(now=later(hours=25))[0], Step.EXPIRE).startswith("snapshots 12 → 1")


def test_snapshots_go_by_number_too_but_not_while_a_reader_may_be_at_them(lake: Lake) -> None:
    shed = Shed(lake, contract_of("orders", maintenance="most_snapshots: 10"))
    shed.commit(25)
    assert step(shed.plan()[0], Step.EXPIRE) == ""
    assert step(shed.plan(now=later(seconds=READER_SECONDS + 1))[0], Step.EXPIRE).startswith("snapshots 25 → 10")


def test_a_snapshot_is_as_old_as_the_one_that_came_after_it_because_until_then_readers_opened_it(shed: Shed) -> None:
    shed.commit(3)
    before, last = shed.table().metadata.snapshots[-2:]
    hour_after = datetime.fromtimestamp(last.timestamp_ms / 1000, UTC) + timedelta(hours=1)
    subject, metadata = shed.with_policy(snapshot_seconds=3600), shed.table().metadata
    assert before.snapshot_id not in expiry_of(metadata, subject, hour_after - timedelta(milliseconds=1)).snapshots
    assert before.snapshot_id in expiry_of(metadata, subject, hour_after).snapshots


def test_a_snapshot_that_was_rolled_back_to_is_as_young_as_the_commit_that_came_after_that(shed: Shed) -> None:
    shed.commit(3)
    first = shed.table().metadata.snapshots[0]
    hour = timedelta(hours=1)
    sleep(0.05)
    roll_back(shed.table(), first)
    sleep(0.05)
    move_bookmark(shed.table(), {"somebody": "else"})
    subject, metadata = shed.with_policy(snapshot_seconds=3600), shed.table().metadata
    ended = datetime.fromtimestamp(metadata.snapshot_log[-1].timestamp_ms / 1000, UTC)
    holds = replace(subject, name="nobodys")  # else it is held, because it carries the newest batch
    assert first.snapshot_id not in expiry_of(metadata, holds, ended + hour - timedelta(milliseconds=1)).snapshots
    assert first.snapshot_id in expiry_of(metadata, holds, ended + hour).snapshots


def pretend_that_it_replaced(metadata: Path) -> None:
    """PyIceberg cannot compact: the newest snapshot says that it only wrote rows anew, and some are gone."""
    told = json.loads(metadata.read_text())
    told["snapshots"][-1]["summary"]["operation"] = "replace"
    metadata.write_text(json.dumps(told))


def test_what_a_compaction_lost_is_kept_until_somebody_has_looked(shed: Shed) -> None:
    shed.commit(3)
    table = shed.table()
    full = table.metadata.current_snapshot_id
    remove_batch(table, shed.rows()[0]["_batch"], "a compaction")
    pretend_that_it_replaced(local_path(shed.table().metadata_location))
    shed.commit(12)
    (report,) = shed.plan(now=later(days=30))
    assert full not in expiry_of(shed.table().metadata, shed.subjects()[0], later(days=30)).snapshots
    assert any(f"--to {full} --and-reingest --dry-run" in line for line in report.kept)


def test_closed_partitions_are_packed_beside_one_that_is_filled_since_long_ago(lake: Lake) -> None:
    rest = "bronze: {partition_by: [note]}\n"
    shed = Shed(lake, contract_of("orders", rest=rest))
    bronze = shed.bronze()
    for number in range(20):
        name = "filled" if number % 3 == 0 or number > 17 else "closed"
        data = f'{{"id": {number}, "note": "{name}"}}\n'.encode()
        bronze.take_in([unit_of(shed.put(f"{number:03}.json", data))], "here", bronze.books.next_sequence())
        if number == 17:
            sleep(0.05)
            rested = datetime.now(UTC)
    (report,) = shed.plan(live=True, now=rested + timedelta(minutes=10))
    assert step(report, Step.COMPACT) == "files 20 → 4"


def test_what_a_consumer_has_not_read_is_held_and_the_plan_says_for_whom(shed: Shed) -> None:
    shed.commit(2)
    table = shed.table()
    read = table.metadata.current_snapshot_id
    assert read is not None
    schema = bronze_schema(shed.contract)
    silver = ensure_table(shed.lake, SILVER, shed.name, schema, (), {})
    move_bookmark(silver, bookmark_summary(Bookmark(str(table.metadata.table_uuid), read)))
    shed.commit(18)
    (report,) = shed.plan(now=later(days=30))
    assert step(report, Step.EXPIRE) == ""
    assert any("silver.orders has read up to it: smelt silver orders" in line for line in report.kept)
    goes = expiry_of(shed.table().metadata, shed.subjects()[0], later(days=30)).snapshots
    assert len(goes) == 1
    assert read not in goes
    kept = [one.snapshot_id for one in ancestors(shed.table().metadata) if one.snapshot_id not in goes]
    assert kept[-1] == read, "the chain from the newest back to what was read is whole"


def test_the_newest_batch_of_the_stream_is_held_whatever_came_after_it(shed: Shed) -> None:
    shed.commit(3)
    token = next(one.snapshot_id for one in ancestors(shed.table().metadata) if told(one, TOKEN))
    for _ in range(12):
        move_bookmark(shed.table(), {"somebody": "else"})
    goes = expiry_of(shed.table().metadata, shed.subjects()[0], later(days=30)).snapshots
    assert len(goes) == 2
    assert token not in goes
    assert shed.snapshots() == 15


def test_a_tag_keeps_its_snapshot(shed: Shed) -> None:
    shed.commit(12)
    first = shed.table().metadata.snapshots[0].snapshot_id
    with shed.table().manage_snapshots() as snapshots:
        snapshots.create_tag(first, "audit")
    assert first not in expiry_of(shed.table().metadata, shed.subjects()[0], later(days=30)).snapshots


@pytest.mark.parametrize("name", ["bronze.orderz", "nowhere", "bronze.orders; drop", "'--"])
def test_a_table_that_is_not_there_is_refused_with_the_nearest_name(shed: Shed, name: str) -> None:
    shed.commit()
    with pytest.raises(Refused, match="there is no table"):
        subjects_of(shed.lake, [name])


def test_a_table_that_cannot_be_read_hides_no_other(shed: Shed) -> None:
    shed.commit()
    location = load_table(shed.lake, DEAD_LETTERS, shed.name).metadata_location
    shed.folder(DEAD_LETTERS).rename(shed.folder(DEAD_LETTERS).with_name("elsewhere"))
    assert location
    found = {one.table: one for one in shed.plan(BRONZE, DEAD_LETTERS)}
    assert found["bronze.orders"].outcome == "nothing"
    assert found["dead_letters.orders"].outcome == "failed"
    assert "the metadata of dead_letters.orders is gone" in str(found["dead_letters.orders"].problem)


def test_tables_without_a_contract_are_looked_after_by_the_defaults(shed: Shed) -> None:
    shed.commit()
    names = [str(one) for one in subjects_of(shed.lake)]
    assert names == ["bronze.orders", "dead_letters.orders", "dead_letters.resolutions"]
    assert OPS not in "".join(names)
