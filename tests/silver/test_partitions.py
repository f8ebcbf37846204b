"""Rows lie with the day on which they happened, and a stable time keeps a run from opening other days."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Make
from things import FIRST, LATEST_STABLE, STABLE, Things, moment, recomputed

from smelter.errors import SmelterError
from smelter.lake.home import SILVER
from smelter.lake.tables import load_table


def some(*ids: str, day: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": one, "region": 1, "at": moment(day), "seq": 1, **more} for one in ids]


def files_by_day(things: Things) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for task in load_table(things.lake, SILVER, things.name).scan().plan_files():
        path = Path(task.file.file_path)
        found.setdefault(path.parent.name, []).append(path)
    return found


def test_late_and_disordered_events_land_in_the_partition_of_their_day(make: Make) -> None:
    things = make(STABLE)
    things.arrive(some("a", day=9) + some("b", day=2))
    things.build()
    things.arrive(some("c", day=0) + some("d", day=9))
    things.build()
    counts = {day: len(paths) for day, paths in files_by_day(things).items()}
    assert counts == {"at_day=2026-03-01": 1, "at_day=2026-03-03": 1, "at_day=2026-03-10": 2}
    assert things.silver() == recomputed(things)


@pytest.mark.parametrize("silver", [STABLE, LATEST_STABLE])
def test_with_a_stable_time_files_of_other_days_are_not_opened(make: Make, silver: str) -> None:
    things = make(silver)
    things.arrive(some("a", day=1) + some("b", day=2) + some("c", day=5))
    things.build()
    (untouched,) = files_by_day(things)["at_day=2026-03-03"]
    untouched.rename(untouched.with_suffix(".away"))
    things.arrive(some("a", "d", day=1, seq=2) + some("e", day=5))
    things.build()
    untouched.with_suffix(".away").rename(untouched)
    assert things.silver() == recomputed(things)


def test_without_the_promise_every_day_is_looked_at(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a", day=1) + some("b", day=2))
    things.build()
    (other,) = files_by_day(things)["at_day=2026-03-03"]
    other.rename(other.with_suffix(".away"))
    things.arrive(some("c", day=1))
    with pytest.raises(SmelterError):
        things.build()
    other.with_suffix(".away").rename(other)
    things.arrive(some("b", day=8))
    things.build()
    assert things.silver() == recomputed(things)


@pytest.mark.parametrize("time", [", event_time: day, event_time_stable: true", ""])
def test_events_may_have_a_date_or_no_time_at_all(make: Make, time: str) -> None:
    fields = "\n  id: {type: string}\n  day: {type: date}\n"
    things = make(f"key: [id]{time}", fields=fields)
    for days in (["2026-03-01", "2026-03-09", None], ["2026-03-09", "9999-12-31", "0001-01-01", None]):
        things.arrive([{"id": str(day), "day": day} for day in days])
        things.build()
    assert len(things.silver()) == 5
    assert things.silver() == recomputed(things)
