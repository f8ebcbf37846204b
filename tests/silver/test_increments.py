"""What silver reads: what is new and nothing else, whatever happens to bronze's and silver's snapshots."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from conftest import Make
from pyiceberg.expressions import EqualTo
from test_silver import killed_at, run
from things import FIRST, LATEST, STABLE, Things, moment, recomputed

from smelter.errors import Refused
from smelter.lake.bookmarks import bookmark_of
from smelter.lake.commits import INGESTED_AT
from smelter.lake.home import BRONZE, SILVER
from smelter.lake.removal import REMOVAL
from smelter.lake.tables import load_table


def some(things: Things, *ids: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": one, "region": 1, "at": moment(3), "seq": 1, **more} for one in ids]


def expire(things: Things, namespace: str, keep: int = 1) -> None:
    """What a stranger's maintenance does."""
    things.spark.sql(
        f"CALL lake.system.expire_snapshots(table => 'lake.{namespace}.{things.name}', "
        f"older_than => timestamp'2100-01-01 00:00:00', retain_last => {keep})"
    )


def remove(things: Things, name: str, **summary: str) -> None:
    """Take rows out of bronze."""
    table = load_table(things.lake, BRONZE, things.name)
    table.delete(EqualTo("id", name), snapshot_properties=summary)


def ids(things: Things) -> list[str]:
    return sorted(row["id"] for row in things.silver())


def test_a_run_reads_what_came_since_the_last_one(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "a", "b"))
    things.build()
    things.arrive(some(things, "c"))
    things.arrive(some(things, "c", "d"))
    (taken,) = things.build().taken
    assert (taken.read, taken.things, taken.added) == (3, 2, 2)


def test_a_large_backlog_is_taken_in_slices(make: Make) -> None:
    things = make(FIRST)
    for name in "abcdef":
        things.arrive(some(things, name))
    assert [taken.read for taken in things.build(most_rows=2).taken] == [2, 2, 2]
    for name in "ghi":
        things.arrive(some(things, name))
    assert [taken.read for taken in things.build(most_rows=2).taken] == [2, 1]
    assert things.silver() == recomputed(things)


def test_a_first_run_that_was_killed_goes_on_with_the_next_slice(make: Make) -> None:
    things = make(FIRST)
    for name in "abc":
        things.arrive(some(things, name))
    run(things, 1, "published")
    assert ids(things) == ["a"]
    assert [taken.read for taken in things.build(most_rows=1).taken] == [1, 1]
    assert things.silver() == recomputed(things)


def test_a_row_that_left_between_two_slices_of_one_snapshot_does_not_come_back(make: Make) -> None:
    things = make(FIRST)
    for name in "abc":
        things.arrive(some(things, name))
    run(things, 1, "published")
    remove(things, "b", **{REMOVAL: "undo:1"})
    things.build(most_rows=1)
    assert ids(things) == ["a", "c"]


def test_rows_that_we_took_out_of_bronze_do_not_come_back(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "a"))
    things.build()
    things.arrive(some(things, "b", "c"))
    remove(things, "b", **{REMOVAL: "undo:1"})
    things.arrive(some(things, "d"))
    things.build()
    assert ids(things) == ["a", "c", "d"]
    things.arrive(some(things, "e"))
    (taken,) = things.build().taken
    assert (taken.read, ids(things)) == (1, ["a", "c", "d", "e"])


def test_a_removal_that_is_not_ours_stops_silver_and_a_rebuild_goes_on(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "a", "b"))
    things.build()
    remove(things, "a")
    before = things.snapshots()
    with pytest.raises(Refused, match="not Smelter") as told:
        things.build()
    assert "--rebuild" in told.value.next_step
    assert things.snapshots() == before
    things.build(rebuild=True)
    assert ids(things) == ["b"]
    things.arrive(some(things, "c"))
    things.build()
    assert ids(things) == ["b", "c"]


@pytest.mark.parametrize("silver", [FIRST, STABLE, LATEST])
def test_a_lost_bookmark_is_found_again_without_doubling_a_row(make: Make, silver: str) -> None:
    things = make(silver)
    for name in "aab":
        things.arrive(some(things, name, seq=ord(name)))
        things.build()
    table = f"lake.silver.{things.name}"
    things.spark.sql(f"CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    expire(things, SILVER)
    assert bookmark_of(load_table(things.lake, SILVER, things.name)) is None
    things.arrive(some(things, "a", "c", seq=200))
    report = things.build()
    assert "how far" in report.began_anew
    assert things.silver() == recomputed(things)
    assert [taken.read for taken in things.build().taken] == []


def test_a_snapshot_of_bronze_that_was_expired_under_silver_costs_a_longer_run_only(make: Make) -> None:
    things = make(LATEST)
    things.arrive(some(things, "a"))
    things.build()
    things.arrive(some(things, "a", "b", seq=5))
    expire(things, BRONZE)
    report = things.build()
    assert "expired" in report.began_anew
    assert things.silver() == recomputed(things)


def test_bronze_rolled_back_under_silver_is_refused(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "a"))
    first = load_table(things.lake, BRONZE, things.name).metadata.current_snapshot_id
    things.arrive(some(things, "b"))
    things.build()
    things.spark.sql(f"CALL lake.system.rollback_to_snapshot('lake.bronze.{things.name}', {first})")
    with pytest.raises(Refused, match="rolled back"):
        things.build()
    things.build(rebuild=True)
    assert ids(things) == ["a"]


def test_snapshots_without_rows_move_the_bookmark_and_nothing_else(make: Make) -> None:
    things = make(FIRST)
    for name in "ab":
        things.arrive(some(things, name))
    things.build()
    table = f"lake.bronze.{things.name}"
    things.spark.sql(f"CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    head = load_table(things.lake, BRONZE, things.name).metadata.current_snapshot_id
    before = things.silver()
    assert things.build().taken == ()
    bookmark = bookmark_of(load_table(things.lake, SILVER, things.name))
    assert bookmark is not None
    assert (bookmark.snapshot, things.silver()) == (head, before)


def test_rows_that_are_all_known_move_the_bookmark(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "a"))
    things.build()
    things.arrive(some(things, "a"))
    (taken,) = things.build().taken
    assert (taken.things, taken.added) == (1, 0)
    assert things.build().taken == ()


@pytest.mark.parametrize("silver", [FIRST, LATEST])
def test_a_batch_that_is_committed_after_a_later_one_is_still_the_first(make: Make, silver: str) -> None:
    things = make(silver)
    things.arrive(some(things, "a", text="second"))
    things.build()
    commit_earlier(things, text="first")
    things.build()
    (row,) = things.silver()
    assert row["text"] == "first"
    assert things.silver() == recomputed(things)


def test_a_run_that_begins_anew_and_is_killed_still_puts_a_late_batch_first(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "z"))
    things.arrive(some(things, "a", text="second"))
    things.build()
    late = [row for row in rows_of_bronze(things) if row["id"] == "a"]
    commit_earlier(things, text="first", rows=late, seconds=0.000001)
    expire(things, BRONZE)
    run(things, 1, "published")
    things.build(most_rows=1)
    assert things.silver() == recomputed(things)
    assert [row["text"] for row in things.silver() if row["id"] == "a"] == ["first"]


def test_a_source_that_was_taken_out_and_read_again_counts_once(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "z"))
    things.build()
    things.arrive(some(things, "a", text="old"))
    (taken_out,) = [row for row in rows_of_bronze(things) if row["id"] == "a"]
    remove(things, "a", **{REMOVAL: "undo:1"})
    again = [taken_out | {"text": "new", "_ingested_at": taken_out["_ingested_at"] + timedelta(seconds=5)}]
    append(things, again)
    things.build()
    assert [row["text"] for row in things.silver() if row["id"] == "a"] == ["new"]
    assert things.silver() == recomputed(things)


def test_a_rollback_is_told_from_an_expiry(make: Make) -> None:
    things = make(FIRST)
    for name in "ab":
        things.arrive(some(things, name))
    expire(things, BRONZE)
    kept = load_table(things.lake, BRONZE, things.name).metadata.current_snapshot_id
    things.arrive(some(things, "c"))
    things.build()
    things.spark.sql(f"CALL lake.system.rollback_to_snapshot('lake.bronze.{things.name}', {kept})")
    with pytest.raises(Refused, match="rolled back"):
        things.build()


def test_a_rebuild_from_nothing_is_refused(make: Make) -> None:
    with pytest.raises(Refused, match="no rows to build"):
        make(FIRST).build(rebuild=True)


def rows_of_bronze(things: Things) -> list[dict[str, Any]]:
    return load_table(things.lake, BRONZE, things.name).scan().to_arrow().to_pylist()


def commit_earlier(things: Things, text: str, rows: list[dict[str, Any]] | None = None, seconds: float = 9) -> None:
    """A batch that was prepared before rows that are there, and is committed now."""
    rows = rows or rows_of_bronze(things)
    at: datetime = rows[0]["_ingested_at"] - timedelta(seconds=seconds)
    append(things, [row | {"_ingested_at": at, "_source": "file:///late.json", "text": text} for row in rows])


def append(things: Things, rows: list[dict[str, Any]]) -> None:
    table = load_table(things.lake, BRONZE, things.name)
    arrow = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
    table.append(arrow, snapshot_properties={INGESTED_AT: rows[0]["_ingested_at"].isoformat()})


def test_a_kill_between_the_verdict_and_the_commit_leaves_no_table_behind(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some(things, "a"))
    run(things, 10, "judged")
    assert things.snapshots() == []
    things.build(killed_at("never"))
    assert ids(things) == ["a"]
