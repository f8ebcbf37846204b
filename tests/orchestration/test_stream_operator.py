"""The stream's task decides by what is on disk: which driver lives, how the last one ended, and what is wanted."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, TaskDeferred
from conftest import PROJECT

from smelter.orchestration import stream_operator
from smelter.orchestration.stream_operator import StreamOperator
from smelter.run_folders import stream_folder
from smelter.supervise.driver import Driver, Launch, is_alive, kill, start, wait_for
from smelter.supervise.heartbeat import Heartbeat, State, write_heartbeat
from smelter.supervise.lock import holder, only_driver
from smelter.supervise.requests import Wish, ask_to_stop, forget_requests, want

TINY = PROJECT / "tests" / "supervise" / "tiny_driver.py"


class Store(dict[str, Any]):
    """Airflow's task state store, as far as a task writes to it."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The run folder of a stream whose drivers need no Spark; none of them is left."""
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path))
    place = stream_folder(tmp_path, "events")

    def tiny(_lake: Path, dataset: str, **_: Any) -> Driver:
        return start(place, dataset, Launch([sys.executable, str(TINY), str(place)], dict(os.environ)))

    monkeypatch.setattr(stream_operator, "ensure_driver", tiny)
    monkeypatch.setattr(stream_operator, "WATCH_SECONDS", 0.5)
    yield place
    found = holder(place)
    if found is not None:
        os.kill(found.pid, signal.SIGKILL)


@pytest.fixture
def task(folder: Path) -> StreamOperator:
    return StreamOperator(task_id="stream", dataset="events")


def deferred(step: Any, *words: Any, store: Store | None = None) -> dict[str, Any]:
    """What the task leaves to its trigger."""
    with pytest.raises(TaskDeferred) as left:
        step({"task_state_store": store if store is not None else Store()}, *words)
    assert left.value.method_name == "take_up"
    return dict(left.value.trigger.serialize()[1])


def ended(watched: dict[str, Any], what: str = "ended") -> dict[str, Any]:
    return {"what": what, **watched}


def wait_until_gone(folder: Path, run: str) -> None:
    assert wait_for(lambda: not is_alive(folder, run), time.monotonic() + 10)


def test_it_starts_a_driver_leaves_it_to_a_trigger_and_mirrors_it(task: StreamOperator, folder: Path) -> None:
    store = Store()
    watched = deferred(task.execute, store=store)
    assert is_alive(folder, watched["run"])
    assert store["stream"]["state"] in ("starting", "waiting")
    again = deferred(StreamOperator(task_id="stream", dataset="events").execute)
    assert again["run"] == watched["run"], "another attempt finds the same driver"


def test_a_driver_that_lives_is_watched_on_until_the_day_is_over(task: StreamOperator, folder: Path) -> None:
    watched = deferred(task.execute)
    assert deferred(task.take_up, ended(watched, "over"))["run"] == watched["run"]
    yesterday = {**watched, "since": time.time() - 90_000}
    task.take_up({"task_state_store": Store()}, ended(yesterday, "over"))  # type: ignore[arg-type]
    assert is_alive(folder, watched["run"]), "the driver goes on"


def test_a_state_that_cannot_be_mirrored_fails_nothing(task: StreamOperator, folder: Path) -> None:
    class Broken(Store):
        def set(self, key: str, value: Any) -> None:
            raise OSError("the API server is being restarted")

    assert is_alive(folder, deferred(task.execute, store=Broken())["run"])


def test_a_recovery_that_made_the_stream_step_aside_is_waited_for_and_is_no_failure(
    task: StreamOperator, folder: Path
) -> None:
    watched = deferred(task.execute)
    ask_to_stop(folder, watched["run"], "a recovery")
    wait_until_gone(folder, watched["run"])
    with only_driver(folder, "events", "recover") as me:
        forget_requests(folder, but=me.run)
        write_heartbeat(folder, Heartbeat("events", os.getpid(), State.WORKING, time.time(), run=me.run))
        assert deferred(task.take_up, ended(watched))["run"] == ""
    after = deferred(task.take_up, ended({**watched, "run": ""}, "wanted"))
    assert is_alive(folder, after["run"])


def test_a_driver_that_was_ended_at_once_by_hand_is_no_failure(task: StreamOperator, folder: Path) -> None:
    watched = deferred(task.execute)
    want(folder, Wish.STOP, "ann")
    ask_to_stop(folder, watched["run"], "ann")
    kill(folder, watched["run"])
    assert deferred(task.take_up, ended(watched))["run"] == ""


def test_a_driver_that_was_asked_to_end_is_followed_by_another(task: StreamOperator, folder: Path) -> None:
    watched = deferred(task.execute)
    ask_to_stop(folder, watched["run"], "a test")
    wait_until_gone(folder, watched["run"])
    after = deferred(task.take_up, ended(watched))
    assert after["run"] != watched["run"]
    assert is_alive(folder, after["run"])


def test_a_driver_that_was_killed_fails_the_attempt_and_says_what_became_of_the_data(
    task: StreamOperator, folder: Path
) -> None:
    watched = deferred(task.execute)
    found = holder(folder)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    wait_until_gone(folder, watched["run"])
    with pytest.raises(AirflowException, match="the driver of events was killed") as failed:
        task.take_up({"task_state_store": Store()}, ended(watched))  # type: ignore[arg-type]
    assert "nothing is lost" in str(failed.value)


def test_a_driver_that_somebody_replaced_is_no_failure(task: StreamOperator, folder: Path) -> None:
    watched = deferred(task.execute)
    found = holder(folder)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    wait_until_gone(folder, watched["run"])
    theirs = stream_operator.ensure_driver(Path(), "events", served=False, by="ann")
    assert deferred(task.take_up, ended(watched))["run"] == theirs.run


def test_a_stream_that_was_stopped_by_hand_is_waited_for_and_not_started(task: StreamOperator, folder: Path) -> None:
    want(folder, Wish.STOP, "ann", "the disk is being changed")
    watched = deferred(task.execute)
    assert watched["run"] == ""
    assert holder(folder) is None
    want(folder, Wish.RUN, "ann")
    assert is_alive(folder, deferred(task.take_up, ended(watched, "wanted"))["run"])


def test_a_driver_that_is_silent_is_ended_and_the_attempt_fails(task: StreamOperator, folder: Path) -> None:
    watched = deferred(task.execute)
    found = holder(folder)
    assert found is not None
    os.kill(found.pid, signal.SIGSTOP)
    with pytest.raises(AirflowException, match="was killed"):
        task.take_up({"task_state_store": Store()}, ended(watched, "silent"))  # type: ignore[arg-type]
    assert not is_alive(folder, watched["run"])


def test_a_driver_that_it_found_and_that_is_leaving_is_followed_by_another_in_the_same_attempt(
    task: StreamOperator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = deferred(task.execute)["run"]
    ensure = stream_operator.ensure_driver

    def found_just_before_the_old_trigger_acts(*words: Any, **more: Any) -> Driver:
        driver = ensure(*words, **more)
        ask_to_stop(folder, first, "the trigger of the attempt before")
        return driver

    monkeypatch.setattr(stream_operator, "ensure_driver", found_just_before_the_old_trigger_acts)
    assert deferred(StreamOperator(task_id="stream", dataset="events").execute)["run"] != first


def test_a_task_that_is_killed_stops_its_own_driver_and_starts_no_other(task: StreamOperator, folder: Path) -> None:
    run = deferred(task.execute)["run"]
    stranger = StreamOperator(task_id="stream", dataset="events")
    stranger.on_kill()
    time.sleep(0.5)
    assert is_alive(folder, run)
    task.on_kill()
    wait_until_gone(folder, run)
    with pytest.raises(AirflowException, match="starts no driver"):
        task.execute({"task_state_store": Store()})  # type: ignore[arg-type]
    assert holder(folder) is None
