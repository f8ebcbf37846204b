"""`ops.waiting` and what asks it, beside what silver would read: whatever was rolled back does not count."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from known_lake import FIRST, REPLAY, REPLAY_TOKEN, SECOND, SHOP_1, SHOP_2, TILL_1, KnownLake, event

from smelter.explore import Explorer, connect
from smelter.explore.facts import facts_of
from smelter.explore.questions import question_named
from smelter.lake.bookmarks import bookmark_of
from smelter.lake.home import BRONZE, SILVER
from smelter.lake.increments import backlog_of
from smelter.lake.removal import remove_batch
from smelter.lake.rollback import find_snapshot, roll_back

QUESTIONS = Path(__file__).parents[2] / "duckdb" / "questions"
FOUR = [event(SHOP_1, number, f"e{number}", "09:59:45") for number in range(3)] + [event(TILL_1, 0, "e3", "09:59:25")]
TWO = [event(SHOP_2, 0, "e4", "11:20:00"), event(SHOP_2, 1, "e5", "11:21:00")]
ONE = [event(SHOP_1, 3, "e6", "09:59:48", written=REPLAY)]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[KnownLake]:
    """Bronze and silver have four rows, and silver's bookmark says so."""
    known = KnownLake(tmp_path / "lake")
    known.batch(FOUR)
    known.merge(FOUR, known.bookmark(FIRST))
    yield known
    known.close()


@pytest.fixture
def explorer(lake: KnownLake) -> Iterator[Explorer]:
    with connect(lake.lake.root) as explorer:
        yield explorer


def newest(lake: KnownLake, namespace: str) -> int:
    snapshot = lake.table(namespace, "events").current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def roll(lake: KnownLake, namespace: str, to: int) -> None:
    table = lake.table(namespace, "events")
    roll_back(table, find_snapshot(table, to))


def expire(lake: KnownLake, snapshot: int) -> None:
    """As a stranger would, who does not know that silver stands there."""
    lake.table(BRONZE, "events").maintenance.expire_snapshots().by_id(snapshot).commit()


def ask(explorer: Explorer, name: str) -> dict[str, Any]:
    question = question_named(QUESTIONS, name)
    answer = explorer.execute(question.sql, question.values({}))
    (row,) = answer.fetchall()
    return dict(zip(answer.columns, row, strict=True))


def waiting(explorer: Explorer) -> tuple[int, int]:
    """Commits and rows that wait, as both questions tell them."""
    behind, twice = ask(explorer, "silver_behind"), ask(explorer, "sent_twice")
    assert behind["rows_waiting"] == twice["not_yet_in_silver"]
    return behind["commits_waiting"], behind["rows_waiting"]


def planned(lake: KnownLake) -> int:
    """The rows that silver would read."""
    return backlog_of(lake.table(BRONZE, "events"), bookmark_of(lake.table(SILVER, "events")), sys.maxsize).rows


def repeated(explorer: Explorer) -> int:
    return int(ask(explorer, "sent_twice")["repeated_rows"])


def test_rows_that_bronze_got_and_gave_back_do_not_wait(lake: KnownLake, explorer: Explorer) -> None:
    lake.batch(TWO)
    kept = newest(lake, BRONZE)
    lake.batch(ONE)
    assert (waiting(explorer), planned(lake)) == ((2, 3), 3)
    roll(lake, BRONZE, kept)
    assert (waiting(explorer), planned(lake)) == ((1, 2), 2)
    assert repeated(explorer) == 0
    lake.batch(ONE)
    assert (waiting(explorer), planned(lake)) == ((2, 3), 3), "what came after it counts"


def test_a_bookmark_that_was_rolled_back_does_not_count(lake: KnownLake, explorer: Explorer) -> None:
    before = newest(lake, SILVER)
    lake.batch(TWO)
    lake.merge(TWO, lake.bookmark(SECOND))
    assert (waiting(explorer), planned(lake)) == ((0, 0), 0)
    roll(lake, SILVER, before)
    assert (waiting(explorer), planned(lake)) == ((1, 2), 2)
    lake.merge([], None)
    assert (waiting(explorer), planned(lake)) == ((1, 2), 2), "nor when a commit without a bookmark follows"
    assert repeated(explorer) == 0


def test_without_the_snapshot_of_the_bookmark_its_moment_counts(lake: KnownLake, explorer: Explorer) -> None:
    read = newest(lake, BRONZE)
    lake.batch(TWO)
    kept = newest(lake, BRONZE)
    lake.batch(ONE)
    roll(lake, BRONZE, kept)
    lake.batch(ONE)
    expire(lake, read)
    assert waiting(explorer) == (2, 3)
    assert repeated(explorer) == 0
    assert ask(explorer, "silver_behind")["read_up_to_at"] == FIRST


def test_of_a_snapshot_that_was_read_in_part_the_rest_waits(lake: KnownLake, explorer: Explorer) -> None:
    lake.batch(TWO)
    lake.batch(ONE)
    lake.merge([], lake.bookmark(FIRST, through=FIRST))
    assert (waiting(explorer), planned(lake)) == ((2, 3), 3)
    lake.merge(TWO, lake.bookmark(SECOND, through=SECOND))
    assert (waiting(explorer), planned(lake)) == ((1, 1), 1)


def test_a_bronze_that_was_made_again_waits_as_a_whole(lake: KnownLake, explorer: Explorer) -> None:
    lake.lake.catalog.drop_table((BRONZE, "events"))
    again = KnownLake(lake.lake.root)
    again.batch(FOUR)
    again.close()
    assert waiting(explorer) == (1, 4)


def test_a_replay_that_was_taken_back_does_not_wait(lake: KnownLake, explorer: Explorer) -> None:
    lake.batch(ONE)
    assert waiting(explorer) == (1, 1)
    assert remove_batch(lake.table(BRONZE, "events"), REPLAY_TOKEN, "undo:1") == 1
    assert waiting(explorer) == (0, 0)
    assert repeated(explorer) == 0


def test_snapshots_tell_whether_they_led_to_the_current_one(lake: KnownLake, explorer: Explorer) -> None:
    kept = newest(lake, BRONZE)
    lake.batch(TWO)
    roll(lake, BRONZE, kept)
    lake.batch(ONE)
    lake.batch(TWO)
    told = explorer.execute("""
        select added_rows, is_ancestor, steps_back, is_current from ops.snapshots
        where "table" = 'bronze.events' order by committed_at, steps_back desc
    """).fetchall()
    assert sorted(told, key=repr) == sorted(
        [(4, True, 2, False), (2, False, None, False), (1, True, 1, False), (2, True, 0, True)], key=repr
    )


def test_a_circle_of_parents_ends() -> None:
    """No writer makes one; a catalog that never answers would be the worse for it."""
    snapshots = b'[{"snapshot-id": 1, "parent-snapshot-id": 2}, {"snapshot-id": 2, "parent-snapshot-id": 1}]'
    shape = b'"schemas": [{"schema-id": 0, "fields": []}], "current-schema-id": 0'
    told = facts_of(b'{"current-snapshot-id": 2, %b, "snapshots": %b}' % (shape, snapshots))
    assert '"ancestors": [2, 1]' in told["properties"]["facts"]
