"""Rows go when their time is up, whole batches at a time; what was made from them stays, and nothing comes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from people import MakePeople, People, event, make_people, people_contract, silver_part  # noqa: F401

from smelter.bronze.rehearsal import rehearse
from smelter.gold.plan import Step
from smelter.lake.home import Lake
from smelter.lake.lease import lease
from smelter.ledger.trace import trace
from smelter.maintenance.retention import Retired, due, retire_rows

KEEP = timedelta(days=400)
BRONZE_ONLY = "bronze: {keep_rows: 400d}\n"
BOTH = BRONZE_ONLY + silver_part(", keep_rows: 400d")


def when_over(people: People, name: str) -> datetime:
    """The moment when the time of everything is up that was ingested before this file."""
    return max(row["_ingested_at"] for row in moments(people) if row["_source"].endswith(name)) + KEEP


def moments(people: People) -> list[dict[str, datetime]]:
    from smelter.lake.tables import load_table

    return load_table(people.lake, "bronze", people.name).scan().to_arrow().to_pylist()  # type: ignore[no-any-return]


def retire(people: People, namespace: str, now: datetime, name: str = "", keep: str | None = None) -> Retired:
    name = name or people.name
    with lease(people.lake, namespace, name, "maintenance"):
        return retire_rows(people.lake, f"{namespace}.{name}", people.contract, now, keep)


@pytest.mark.jvm
def test_silver_and_gold_keep_their_answers_and_no_record_comes_back(make_people: MakePeople) -> None:  # noqa: F811
    people = make_people(rest=BOTH)
    people.arrive("a.json", event("ann", 1), event("bob", 2), event("cid", 3, surprise=1), event("cid", 4, 2))
    people.arrive("b.json", event("ann", 5), event("bob", 6, 9))
    people.build()
    answers = people.gold()
    assert answers == {1: (3, 2), 2: (1, 1), 9: (1, 1)}

    now = when_over(people, "b.json")
    found = due(people.lake, f"silver.{people.name}", people.contract, now)
    assert found is not None
    assert (found.rows, found.before, found.waits_for) == (3, now - KEEP, "")
    assert (retire(people, "silver", now).rows, retire(people, "bronze", now).rows) == (3, 3)
    assert sorted(people.silver()) == ["e5", "e6"]
    assert people.users() == ["ann", "bob"]
    assert due(people.lake, f"silver.{people.name}", people.contract, now) is None
    assert people.reconciled().forgotten == 3
    assert people.build_silver().taken == (), "silver compares nothing"

    people.forget("user_id = 'bob'")  # rows of silver are rewritten, and gold looks at all that changed since
    people.build()
    assert people.gold() == {1: (3, 2), 2: (1, 1)}, "no window is computed again because rows were retired"
    assert retire(people, "silver", now + timedelta(days=1)).rows == 1
    assert [one.step for one in people.build().built] == [Step.BOOKMARK]
    assert (people.silver(), people.gold()) == ({}, {1: (3, 2), 2: (1, 1)})
    again = rehearse(people.lake, people.name, people.limits)
    assert (again.records, again.rows, again.letters) == (6, 0, 0), "a recovery would write nothing"
    assert people.users() == ["ann"]
    assert people.reconciled().forgotten == 4
    assert trace(people.lake, people.name, people.source("a.json"), 0).found.startswith(
        "its time was up: keep_rows, on 20"
    )


@pytest.mark.jvm
def test_bronze_keeps_what_silver_has_not_read(make_people: MakePeople) -> None:  # noqa: F811
    people = make_people(rest=BOTH)
    people.arrive("a.json", event("ann", 1))
    now = datetime.now(UTC) + KEEP
    not_yet = f"silver has not read them yet: smelt silver {people.name}"
    assert retire(people, "bronze", now) == Retired(f"bronze.{people.name}", 0, None, not_yet)
    people.build_silver()
    people.arrive("b.json", event("bob", 2))
    assert retire(people, "bronze", datetime.now(UTC) + KEEP).waits_for == not_yet
    assert retire(people, "bronze", when_over(people, "b.json")).rows == 1, "what it has read may go"
    assert people.users() == ["bob"]
    assert people.reconciled().forgotten == 1


@pytest.mark.jvm
def test_rows_of_gold_go_by_their_window(make_people: MakePeople) -> None:  # noqa: F811
    people = make_people()
    people.arrive("a.json", event("ann", 1), event("bob", 2, 9), event("cid", 3, 10))
    people.build()
    now = datetime(2026, 3, 19, 12, tzinfo=UTC)
    assert due(people.lake, f"gold.{people.model.name}", people.contract, now) is None, "no model says how long"
    assert retire(people, "gold", now, people.model.name, "10d").rows == 2
    assert people.gold() == {10: (1, 1)}
    assert [one.step for one in people.build().built] == [Step.NOTHING]
    assert people.gold() == {10: (1, 1)}
    assert len(people.silver()) == 3


def test_killed_before_the_rows_leave_every_record_has_its_place(lake: Lake) -> None:
    people = People(lake, people_contract(rest=BRONZE_ONLY))
    people.arrive("a.json", event("ann", 1), event("bob", 2, surprise=1), event("cid", 3))
    people.arrive("b.json", event("bob", 4))
    now = when_over(people, "b.json")

    def die(point: str) -> None:
        if point == "noted":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retire_rows(lake, f"bronze.{people.name}", people.contract, now, reach=die)
    assert (people.reconciled().bronze, people.users()) == (3, ["ann", "bob", "cid"])
    assert retire(people, "bronze", now).rows == 2
    found = people.reconciled()
    assert (found.bronze, found.dead_letters, found.forgotten) == (1, 1, 2), "an open letter never goes"
    again = rehearse(lake, people.name, people.limits)
    assert (again.rows, again.letters) == (0, 0)
    assert retire(people, "bronze", now).run is None


def test_rows_without_a_time_limit_stay_for_ever(lake: Lake) -> None:
    people = People(lake, people_contract(rest=""))
    people.arrive("a.json", event("ann", 1))
    assert due(lake, f"bronze.{people.name}", people.contract, datetime(3000, 1, 1, tzinfo=UTC)) is None
