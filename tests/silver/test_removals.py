"""When records leave bronze, silver is what plain recomputation of the rest gives: another takes the place, or none."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from conftest import Make
from things import FIRST, LATEST, LATEST_STABLE, STABLE, Things, moment, recomputed

from smelter.lake.home import BRONZE, SILVER
from smelter.lake.removal import remove_batch
from smelter.lake.tables import load_table

pytestmark = pytest.mark.jvm
KINDS = (FIRST, STABLE, LATEST, LATEST_STABLE)
HISTORIES = int(os.environ.get("EXAMPLES", "1"))  # the short form is the same each time


def thing(name: str | None, seq: int = 1, day: int = 3, text: str = "") -> dict[str, Any]:
    return {"id": name, "region": 1, "at": moment(day), "seq": seq, "text": text}


def newest_batch(things: Things) -> str:
    return str(max(things.bronze(), key=lambda row: row["_ingested_at"])["_batch"])


def take_out(things: Things, token: str) -> int:
    return remove_batch(load_table(things.lake, BRONZE, things.name), token, "undo:1")


@pytest.mark.parametrize("silver", KINDS)
def test_the_next_record_of_a_key_takes_the_place_of_one_that_left_and_a_key_without_any_goes(
    make: Make, silver: str
) -> None:
    things = make(silver)
    things.arrive([thing("a", 5), thing("b", 5), thing(None, 5)])
    first = newest_batch(things)
    things.arrive([thing("a", 1, text="second"), thing(None, 1, text="second"), thing("c")])
    things.build()
    assert take_out(things, first) == 3
    (taken,) = things.build().taken
    assert things.silver() == recomputed(things)
    assert {row["id"]: row["text"] for row in things.silver()} == {"a": "second", None: "second", "c": ""}
    assert (taken.removed, taken.added) == (1, 0)


@pytest.mark.parametrize("number", range(HISTORIES))
@pytest.mark.parametrize("silver", KINDS)
def test_silver_of_a_random_history_with_removals_is_a_plain_recomputation(
    make: Make, silver: str, number: int
) -> None:
    chance = random.Random(f"{silver} {number}")
    things, tokens = make(silver), []
    stable = "stable" in silver
    things.arrive([thing("z")])
    things.build()
    for step in range(6):
        names = chance.choices("abcdefg", k=4)
        days = {name: ord(name) % 5 if stable else chance.randrange(5) for name in names}
        things.arrive([thing(name, chance.randrange(9), days[name], f"step {step}") for name in names])
        tokens.append(newest_batch(things))
        if chance.random() < 0.4:
            take_out(things, tokens.pop(chance.randrange(len(tokens))))
        if chance.random() < 0.5:
            things.build()
            assert things.silver() == recomputed(things)
    things.build()
    assert things.silver() == recomputed(things)


def test_rows_of_other_batches_in_the_same_file_stay(make: Make) -> None:
    things = make(FIRST)
    for name in "ab":
        things.arrive([thing(name)])
    first = min(things.bronze(), key=lambda row: row["_ingested_at"])["_batch"]
    things.spark.sql(f"CALL lake.system.rewrite_data_files('lake.bronze.{things.name}', 'binpack', null, "
                     "map('rewrite-all', 'true'))")  # fmt: skip
    things.build()
    assert take_out(things, first) == 1
    assert take_out(things, first) == 0, "a second time there is nothing to take out"
    things.build()
    assert [row["id"] for row in things.silver()] == ["b"]


def test_a_removal_of_rows_that_silver_never_had_moves_the_bookmark_only(make: Make) -> None:
    things = make(FIRST)
    things.arrive([thing("a")])
    things.build()
    things.arrive([thing("b")])
    take_out(things, newest_batch(things))
    things.build()
    rows = [one.summary for one in load_table(things.lake, SILVER, things.name).metadata.snapshots]
    things.build()
    assert len(rows) == len(load_table(things.lake, SILVER, things.name).metadata.snapshots)
    assert [row["id"] for row in things.silver()] == ["a"]


@pytest.mark.parametrize("silver", KINDS)
def test_rows_that_came_and_left_before_anybody_looked_are_neither_judged_nor_merged(make: Make, silver: str) -> None:
    things = make(silver, quality="  - {name: not empty, check: row_count, min: 1}\n")
    things.arrive([thing("a")])
    things.build()
    things.arrive([thing("b")])
    take_out(things, newest_batch(things))
    (taken,) = things.build().taken
    assert (taken.things, taken.added, taken.verdict.results) == (0, 0, ())
    assert [row["id"] for row in things.silver()] == ["a"]
    assert things.build().taken == ()
