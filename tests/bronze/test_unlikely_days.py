"""Days that nobody plans for: links, other people's tools, limits that grew, names that come back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import check, rows_of
from crashes import Crash, crash_at
from streams import LIMITS, Stream, contract_of, records

from smelter.bronze.recovery import recover, reread
from smelter.bronze.stream import Hooks
from smelter.errors import Refused, Unreachable
from smelter.lake.batches import BatchRecords
from smelter.lake.checkpoint import Checkpoint
from smelter.lake.home import BRONZE, Lake
from smelter.lake.landing import archived, look_at, put_away, take_back
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile
from smelter.records import Limits
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_lake_that_is_reached_by_another_name_is_the_same_lake(stream: Stream, tmp_path: Path) -> None:
    stream.add("a.json")
    stream.drain_here()
    (tmp_path / "other").symlink_to(stream.lake.root)
    again = Stream(Lake.at(Settings(lake=tmp_path / "other")), stream.contract, stream.sent)
    assert again.drain_here(batch=1) == []
    check(again)


@pytest.mark.jvm
def test_a_folder_that_is_linked_into_itself_is_read_once(stream: Stream, spark: SparkSession) -> None:
    stream.add("a.json")
    (stream.landing / "loop").symlink_to(stream.landing)
    stream.drain(spark)
    check(stream)
    assert look_at(stream.landing, {}).linked == (stream.landing / "loop",)


@pytest.mark.jvm
def test_a_file_from_the_far_future_does_not_make_others_too_old(stream: Stream, spark: SparkSession) -> None:
    stream.add("far.json", modified=7_258_118_400)  # the year 2200
    stream.drain(spark)
    stream.add("now.json")
    stream.add("long ago.json", modified=0)
    stream.drain(spark)
    check(stream)


def test_a_committed_batch_is_found_by_its_rows_where_expiry_left_no_trace(stream: Stream) -> None:
    """PyIceberg's expiry removes the parent's id too, so that no snapshot tells that there were others."""
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("committed"))
    table = load_table(stream.lake, BRONZE, stream.name)
    table.overwrite(table.scan().to_arrow())
    old = [one.snapshot_id for one in table.metadata.snapshots if one.snapshot_id != table.metadata.current_snapshot_id]
    table.maintenance.expire_snapshots().by_ids(old).commit()
    stream.drain_here(batch=1)
    assert len(rows_of(stream, BRONZE)) == 3
    check(stream)


@pytest.mark.jvm
def test_after_a_recovery_that_was_killed_a_plain_ingest_is_refused_until_one_is_finished(
    stream: Stream, spark: SparkSession
) -> None:
    for number, name in enumerate(("a.json", "b.json")):
        stream.add(name)
        stream.drain_here(batch=number)
    shutil.rmtree(stream.receipts)
    stream.add("0.json")
    with pytest.raises(Crash):
        recover(stream.lake, stream.contract, LIMITS, Hooks(reach=crash_at("done")), spark, 1)
    with pytest.raises(Refused, match="recovery was begun and not finished"):
        stream.drain_here(batch=2)
    recover(stream.lake, stream.contract, LIMITS, None, spark, 1)
    stream.drain_here(batch=2)
    check(stream)


def test_a_later_file_with_the_same_name_size_and_time_is_not_deleted_unread(lake: Lake) -> None:
    stream = Stream(lake, contract_of("orders", after_commit="delete"))
    first = stream.add("a.json", b'{"id": 1}\n', modified=1_700_000_000)
    (report,) = stream.drain_here()
    first.unlink()
    stream.put("a.json", b'{"id": 2}\n', modified=1_700_000_000)
    assert put_away(report.receipts, stream.landing, None, just_read=False) == (0, [])
    assert (stream.landing / "a.json").read_bytes() == b'{"id": 2}\n'
    assert not list(stream.landing.glob(".*"))


def test_a_put_away_that_was_killed_is_taken_back(stream: Stream) -> None:
    path = stream.add("a.json")
    path.rename(path.with_name(".a.json.leaving"))
    take_back(stream.landing)
    assert path.exists()
    path.rename(path.with_name(".a.json.leaving"))
    stream.add("a.json", records())
    take_back(stream.landing)
    assert {file.name for file in stream.landing.iterdir()} == {"a.json", "a-1.json"}


def test_the_archive_is_never_written_over(lake: Lake) -> None:
    stream = Stream(lake, contract_of("orders", after_commit="archive"))
    stream.add("latest.json", b'{"id": 1}\n')
    (report,) = stream.drain_here()
    archive = lake.archive("orders")
    archive.mkdir(parents=True)
    (archive / "latest.json").write_text("the only copy of another file")
    assert put_away(report.receipts, stream.landing, archive, just_read=True) == (1, [])
    plain, hashed = archived(report.receipts[0], stream.landing, archive)
    assert (plain.read_text(), hashed.read_bytes()) == ("the only copy of another file", b'{"id": 1}\n')
    assert reconcile(lake, "orders").recounted == 1


@pytest.mark.jvm
def test_a_recovery_under_larger_limits_leaves_a_file_that_was_cut_at_its_cap(lake: Lake, spark: SparkSession) -> None:
    stream = Stream(lake, contract_of("orders"))
    stream.put("a.json", b'{"id": 1}\n' * 300)
    small, large = Limits(max_file_bytes=1024), Limits()
    from smelter.bronze.batch import Bronze
    from smelter.bronze.spread import Here

    bronze = Bronze(lake, stream.contract, small, Here())
    bronze.take_in(stream.units(), "here", 0)
    before = len(rows_of(stream, BRONZE))
    shutil.rmtree(stream.receipts)
    recover(lake, stream.contract, large, None, spark)
    assert len(rows_of(stream, BRONZE)) == before
    assert stream.landing_now().rewritten == (stream.landing / "a.json",)
    assert reconcile(lake, "orders").is_balanced


def test_a_file_that_was_gone_and_came_back_is_named_and_can_be_read(stream: Stream, tmp_path: Path) -> None:
    path = stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("planned"))
    path.rename(tmp_path / "elsewhere")
    stream.drain_here(batch=1)
    stream.expect_letter("a.json", "file_unreadable")
    (tmp_path / "elsewhere").rename(path)
    found = reconcile(stream.lake, stream.name)
    assert (found.is_balanced, len(found.rewritten)) == (True, 1)
    assert reread(stream.lake, stream.contract, LIMITS, path).records == 4
    assert reconcile(stream.lake, stream.name).is_balanced


def test_a_landing_folder_that_is_not_mounted_is_told_and_nothing_is_given_up(stream: Stream, tmp_path: Path) -> None:
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("planned"))
    stream.landing.rename(tmp_path / "unmounted")
    with pytest.raises(Unreachable, match="the landing folder is not there"):
        stream.drain_here(batch=1)
    (tmp_path / "unmounted").rename(stream.landing)
    stream.drain_here(batch=1)
    check(stream)


def test_a_prepared_batch_whose_data_files_were_removed_is_read_again(stream: Stream) -> None:
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("prepared"))
    for file in stream.lake.root.rglob("*.parquet"):
        file.unlink()
    stream.drain_here(batch=1)
    check(stream)


def test_a_batch_that_is_half_committed_and_whose_other_files_were_removed_asks_for_a_recovery(stream: Stream) -> None:
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("between_commits"))
    for file in (stream.lake.root / "tables" / BRONZE).rglob("*.parquet"):
        file.unlink()
    with pytest.raises(Refused) as refusal:
        stream.drain_here(batch=1)
    assert "--recover" in refusal.value.next_step


@pytest.mark.parametrize("damage", ["metadata", "sources/0/9.compact"])
def test_a_checkpoint_that_spark_could_not_read_is_moved_aside_whole(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "orders"
    for name in ("offsets", "commits", "sources/0"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"d242b226-0c33-44d6-adfa-5a2b4cbb913a"}')
    (folder / "sources/0/9.compact").write_text('v1\n{"path":"file:///a.json","timestamp":1,"batchId":9}')
    Checkpoint(folder).mend(lambda _line: None)
    assert folder.exists()
    (folder / damage).write_text("")
    said: list[str] = []
    Checkpoint(folder).mend(said.append)
    assert (folder.exists(), len(said)) == (False, 1)
    Checkpoint(folder).mend(said.append)
    assert len(said) == 1


def test_somebody_who_only_looks_is_not_stopped_by_a_list_of_files_that_was_cut_off(stream: Stream) -> None:
    stream.add("a.json")
    stream.drain_here()
    for log, text in {"offsets": 'v1\n{}\n{"logOffset":0}', "commits": "v1\n{}", "sources/0": 'v1\n{"pat'}.items():
        (stream.checkpoint / log).mkdir(parents=True)
        (stream.checkpoint / log / "0").write_text(text)
    check(stream)
    assert reconcile(stream.lake, stream.name).is_balanced


def test_two_datasets_cannot_share_a_landing_folder(lake: Lake) -> None:
    first = Stream(lake, contract_of("orders"))
    first.add("a.json")
    first.drain_here()
    nested = contract_of("others").model_copy(
        update={"source": first.contract.source.model_copy(update={"files": "landing/orders/others"})}
    )
    with pytest.raises(Refused, match="the landing folder of others is in that of orders"):
        Stream(lake, nested).drain_here()


def test_a_time_beyond_all_calendars_is_the_last_moment(stream: Stream) -> None:
    path = stream.add("a.json")
    os.utime(path, ns=(0, 2**62))
    stream.sent.clear()
    stream.drain_here()
    assert len(BatchRecords(stream.receipts).done()) == 1
