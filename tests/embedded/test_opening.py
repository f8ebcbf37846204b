"""The first start un-pauses the chosen DAGs; from then on a pause is a person's. Pools are made once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_airflow import SmallAirflow, serving

from smelter.embedded import api, opening
from smelter.embedded.home import Home, write_private
from smelter.embedded.opening import build_slots, ensure_pools, enter, followed, open_dags, wait_for_dags
from smelter.embedded.standing import Phase, Standing
from smelter.errors import Unreachable

EVENTS = {"bronze_events", "silver_events", "backfill_events"}
PLATFORM = {"reconcile"}


def quiet(_what: str, _seconds: float) -> None:
    pass


@pytest.fixture
def airflow() -> Iterator[SmallAirflow]:
    small = SmallAirflow()
    for layer in ("bronze", "silver", "backfill"):
        for dataset in ("events", "taxi_trips"):
            small.add_dag(f"{layer}_{dataset}", layer, dataset)
    small.add_dag("reconcile", "platform")
    with serving(small):
        yield small


@pytest.fixture
def home(tmp_path: Path) -> Home:
    one = Home.at(tmp_path / "lake")
    one.make()
    write_private(one.passwords, '{"admin": "right"}')
    return one


@pytest.fixture
def dags(tmp_path: Path) -> Path:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "all.py").touch()
    return tmp_path / "dags"


def standing(airflow: SmallAirflow, since: float = 1.0) -> Standing:
    return Standing(keeper=1, port=airflow.port, since=since, phase=Phase.RUNNING)


def test_the_first_start_opens_the_chosen_datasets_and_the_platform(airflow: SmallAirflow, home: Home) -> None:
    count = open_dags(home, enter(home, standing(airflow)), ["events"], explicit=False)
    assert airflow.open_dags == EVENTS | PLATFORM
    assert count == 4


def test_a_later_start_leaves_a_persons_pause_alone(airflow: SmallAirflow, home: Home) -> None:
    entered = enter(home, standing(airflow))
    open_dags(home, entered, ["events"], explicit=False)
    airflow.dags["silver_events"]["is_paused"] = True
    assert open_dags(home, entered, ["events"], explicit=False) == 0
    assert airflow.open_dags == (EVENTS | PLATFORM) - {"silver_events"}


def test_a_dataset_that_is_named_is_opened_also_later_and_nothing_else(airflow: SmallAirflow, home: Home) -> None:
    entered = enter(home, standing(airflow))
    open_dags(home, entered, ["events"], explicit=False)
    airflow.dags["reconcile"]["is_paused"] = True
    assert open_dags(home, entered, ["taxi_trips"], explicit=True) == 3
    assert airflow.open_dags == EVENTS | {"bronze_taxi_trips", "silver_taxi_trips", "backfill_taxi_trips"}


def test_pools_are_made_once_and_a_persons_slots_stay(airflow: SmallAirflow, home: Home) -> None:
    entered = enter(home, standing(airflow))
    ensure_pools(entered)
    assert airflow.pools["spark"] == {**airflow.pools["spark"], "slots": build_slots(), "include_deferred": False}
    assert airflow.pools["streams"] == {**airflow.pools["streams"], "slots": 16, "include_deferred": False}
    airflow.pools["spark"]["slots"] = 9
    airflow.changes.clear()
    assert ensure_pools(entered) == []
    assert airflow.changes == []


@pytest.mark.parametrize(
    ("gib", "cores", "slots"), [(4, 2, 1), (8, 8, 1), (12, 4, 2), (16, 2, 1), (64, 16, 2), (2, 1, 1)]
)
def test_as_many_builds_at_a_time_as_the_machine_has_room_for(gib: int, cores: int, slots: int) -> None:
    assert build_slots(gib, cores) == slots


def test_dags_of_before_the_start_are_not_taken_for_parsed(
    airflow: SmallAirflow, home: Home, dags: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "PARSED_SECONDS", 1.0)
    now = standing(airflow, since=time.time() + 60)
    with pytest.raises(Unreachable, match="no DAG with the tag events"):
        wait_for_dags(enter(home, now), now, dags, ["events"], quiet)


def test_every_file_is_waited_for(airflow: SmallAirflow, home: Home, dags: Path) -> None:
    """One file has been parsed and the other has not: its DAGs would stay paused for ever."""
    (dags / "late.py").touch()
    entered, began = enter(home, standing(airflow)), time.monotonic()

    threading.Timer(1.0, lambda: airflow.add_dag("gold_events", "events", file="late.py")).start()
    said: list[str] = []
    wait_for_dags(entered, standing(airflow), dags, ["events"], lambda what, _seconds: said.append(what))
    assert 1.0 <= time.monotonic() - began < 4.0
    assert said == ["8 DAGs parsed"]


def test_a_file_without_a_dag_is_not_waited_for_for_ever(
    airflow: SmallAirflow, home: Home, dags: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SETTLED_SECONDS", 0.5)
    (dags / "empty.py").touch()
    assert wait_for_dags(enter(home, standing(airflow)), standing(airflow), dags, ["events"], quiet) == []


def test_a_file_that_cannot_be_read_is_named_with_its_last_line(airflow: SmallAirflow, home: Home, dags: Path) -> None:
    airflow.dags.clear()
    airflow.add_problem("all.py", "SyntaxError: invalid syntax")
    began = time.monotonic()
    with pytest.raises(Unreachable) as refusal:
        wait_for_dags(enter(home, standing(airflow)), standing(airflow), dags, ["events"], quiet)
    assert time.monotonic() - began < 10
    assert "SyntaxError: invalid syntax" in str(refusal.value)
    assert str(dags / "all.py") in str(refusal.value)


def test_the_problem_of_another_file_is_told_and_does_not_stop_the_start(
    airflow: SmallAirflow, home: Home, dags: Path
) -> None:
    (dags / "mine.py").touch()
    airflow.add_problem("mine.py", "NameError: x")
    problems = wait_for_dags(enter(home, standing(airflow)), standing(airflow), dags, ["events"], quiet)
    assert [(problem.file, problem.text) for problem in problems] == [("mine.py", "NameError: x")]


def test_only_streams_that_are_not_paused_are_waited_for(airflow: SmallAirflow, home: Home) -> None:
    airflow.dags["bronze_events"]["is_paused"] = False
    assert followed(enter(home, standing(airflow)), ["events", "taxi_trips", "unknown"]) == ["events"]


def test_a_database_that_is_busy_for_a_moment_is_asked_again(
    airflow: SmallAirflow, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.time, "sleep", lambda _seconds: None)
    entered = enter(home, standing(airflow))
    airflow.busy = 2
    assert entered.pools() == {"default_pool"}
    airflow.busy = 99
    with pytest.raises(Unreachable, match="HTTP 500"):
        entered.pools()


def test_a_wrong_password_is_told_and_not_repeated(airflow: SmallAirflow, home: Home) -> None:
    airflow.password = "other"
    with pytest.raises(Unreachable) as refusal:
        enter(home, standing(airflow))
    assert "HTTP 401" in str(refusal.value)
    assert "right" not in str(refusal.value)
