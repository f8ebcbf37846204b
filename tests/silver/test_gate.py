"""Nothing that fails its checks is published, unless somebody takes it upon themselves."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Make
from things import FIELDS, FIRST, Things, contract_of, moment, recomputed

from smelter.errors import Refused
from smelter.lake.bookmarks import bookmark_of
from smelter.lake.home import SILVER
from smelter.lake.tables import load_table
from smelter.quality.records import past_results
from smelter.silver.build import PUBLISHED_ANYWAY

CHECKS = """
  - {name: regions are small, check: between, column: region, max: 9}
  - {name: texts are there, check: not_null, column: text, on_failure: warn}
"""


def some(*ids: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": one, "region": 1, "at": moment(3), "seq": 1, "text": "x", **more} for one in ids]


@pytest.fixture
def things(make: Make) -> Things:
    things = make(FIRST, quality=CHECKS)
    things.arrive(some("a"))
    things.build()
    return things


def test_a_failed_check_leaves_silver_its_snapshots_and_its_bookmark_untouched(things: Things) -> None:
    before = (things.silver(), things.snapshots(), bookmark_of(load_table(things.lake, SILVER, things.name)))
    things.arrive(some("b") + some("c", "d", region=10))
    with pytest.raises(Refused) as told:
        things.build()
    assert before == (things.silver(), things.snapshots(), bookmark_of(load_table(things.lake, SILVER, things.name)))
    assert "regions are small" in told.value.what
    assert "2 " in told.value.what
    assert [line.rpartition(":")[2] for line in told.value.what.splitlines() if ".json:" in line] == ["1  10", "2  10"]
    assert "--publish-anyway" in told.value.next_step


def test_a_failed_check_keeps_a_new_column_out_too(things: Things) -> None:
    wider = contract_of(FIRST, name=things.name, version=2, fields=FIELDS + "  more: {type: int}\n", quality=CHECKS)
    things.become(wider)
    things.arrive(some("b", region=10, more=1))
    with pytest.raises(Refused):
        things.build()
    assert "more" not in [field.name for field in load_table(things.lake, SILVER, things.name).schema().fields]
    assert things.build(publish_anyway="yes").columns_changed
    assert [row["more"] for row in things.silver()] == [None, 1]


def test_a_first_increment_that_fails_leaves_no_table(make: Make) -> None:
    things = make(FIRST, quality=CHECKS)
    things.arrive(some("a", region=10))
    with pytest.raises(Refused):
        things.build()
    assert things.snapshots() == []


def test_a_reason_overrides_the_gate_and_is_recorded(things: Things) -> None:
    things.arrive(some("b", region=10))
    report = things.build(publish_anyway="the shop moved")
    assert report.published_anyway == "the shop moved"
    assert things.silver() == recomputed(things)
    snapshot = load_table(things.lake, SILVER, things.name).current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary[PUBLISHED_ANYWAY] == "the shop moved"
    assert {one.decision for one in past_results(things.lake, things.name) if not one.result.ok} == {"overridden"}


def test_a_warning_is_told_and_publishes(things: Things) -> None:
    things.arrive([{"id": "b", "region": 1}])
    (taken,) = things.build().taken
    (warned,) = taken.verdict.warned
    assert (warned.name, warned.failing, [one.position for one in warned.examples]) == ("texts are there", 1, [0])
    assert things.silver() == recomputed(things)


def test_what_was_stopped_is_judged_again_with_what_came_since(things: Things) -> None:
    things.arrive(some("b", region=10))
    for _ in range(2):
        with pytest.raises(Refused):
            things.build()
        things.arrive(some("c"))
    things.build(publish_anyway="yes")
    assert things.silver() == recomputed(things)
