"""The whole matrix of kills and buttons, again and again; `make soak` runs it (ROUNDS= says how often)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest
from acting import another, clear, goes_on, mark, pause, reconciles, settled, stream_run
from platforms import COMPONENTS, Platform, drivers_of, kill, never_two_drivers, soon

pytestmark = pytest.mark.jvm
ROUNDS = int(os.environ.get("ROUNDS", "3"))


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("name", [*COMPONENTS, "keeper"])
def test_one_part_of_the_platform_is_killed_and_the_stream_goes_on(platform: Platform, name: str, round_: int) -> None:
    run = settled(platform)
    with never_two_drivers(platform):
        kill(platform.keeper() if name == "keeper" else platform.component(name))
        goes_on(platform)
        if name == "keeper":
            platform.smelt("up", "--sample")  # on the port that it had
        soon(platform.is_healthy, "Airflow is back", 180)
        assert settled(platform) == run
    reconciles(platform)


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_everything_is_killed_at_once_with_the_driver(platform: Platform, round_: int) -> None:
    run = settled(platform)
    with never_two_drivers(platform):
        for pid in [*(platform.component(name) for name in COMPONENTS), *drivers_of(platform.lake)]:
            kill(pid)
        another(platform, run)
    reconciles(platform)


@pytest.mark.parametrize("act", [clear, lambda platform: mark(platform, "success")], ids=["clear", "mark success"])
def test_each_button_ends_the_driver_well_and_another_starts(
    platform: Platform, act: Callable[[Platform], None]
) -> None:
    for _ in range(ROUNDS):
        run = settled(platform)
        with never_two_drivers(platform):
            act(platform)
            another(platform, run)
    reconciles(platform)


def test_paused_and_marked_success_it_ends_and_stays_ended_until_it_is_unpaused(platform: Platform) -> None:
    run = settled(platform)
    with never_two_drivers(platform):
        pause(platform, True)
        goes_on(platform)
        mark(platform, "success")
        soon(lambda: not platform.standing()["alive"], "the driver ends")
        time.sleep(15)
        assert drivers_of(platform.lake) == []
        pause(platform, False)
        another(platform, run)
    assert platform.standing()["wanted"] == "run"


def test_marked_failed_another_starts_and_after_three_in_a_row_the_dag_pauses_itself(platform: Platform) -> None:
    with never_two_drivers(platform):
        for _ in range(2):
            run = settled(platform)
            mark(platform, "failed")
            another(platform, run)
        settled(platform)
        mark(platform, "failed")
        soon(lambda: platform.get("/api/v2/dags/bronze_events")["is_paused"], "the DAG pauses itself")
        soon(lambda: not drivers_of(platform.lake), "the driver ends")
        pause(platform, False)
        settled(platform)
        goes_on(platform)
    reconciles(platform)


def test_down_and_up_again_goes_on(platform: Platform) -> None:
    settled(platform)
    platform.smelt("down")
    assert platform.processes() == []
    assert drivers_of(platform.lake) == []
    platform.smelt("up", "--sample", "--port", str(platform.port))
    settled(platform)
    goes_on(platform)
    reconciles(platform)


def test_a_real_backfill_makes_the_stream_step_aside_and_is_no_failure_of_it(platform: Platform) -> None:
    before = settled(platform)
    run = stream_run(platform)
    attempt = platform.task("bronze_events", run, "stream")["try_number"]
    body = {"logical_date": None, "conf": {"since": "2026-01-01T00:00:00Z", "rebuild": True}}
    with never_two_drivers(platform):
        status, answer = platform.ask("POST", "/api/v2/dags/backfill_events/dagRuns", body)
        assert status == 200, answer
        soon(lambda: platform.runs("backfill_events")[0]["end_date"], "the backfill ends", 300)
        another(platform, before)
    tasks = [platform.task("backfill_events", answer["dag_run_id"], name) for name in ("recover", "silver", "gold")]
    assert [task["state"] for task in tasks] == ["success"] * 3
    assert platform.task("bronze_events", run, "stream")["try_number"] == attempt, "the stream's task did not fail"
    reconciles(platform)
