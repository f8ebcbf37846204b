"""What wakes a task: its driver has ended, is silent, or is wanted again; and new commits, one event for many."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from smelter.orchestration import commits, stream_trigger
from smelter.orchestration.commits import CommitTrigger, take_up
from smelter.orchestration.stream_trigger import StreamTrigger
from smelter.supervise.heartbeat import Heartbeat, State, write_heartbeat
from smelter.supervise.lock import only_driver
from smelter.supervise.requests import Wish, want, wanted, who_asked_to_stop

SINCE = time.time() - 60


def a_beat(folder: Path, token: str = "", run: str = "") -> None:
    write_heartbeat(folder, Heartbeat("events", 1, State.WAITING, time.time(), token=token, run=run))


def first_event(trigger: Any, seconds: float) -> Any:
    """The payload of the trigger's first event, or nothing if it is quiet for so long."""

    async def ask() -> Any:
        events = trigger.run()
        try:
            return (await asyncio.wait_for(anext(events), seconds)).payload
        except TimeoutError:
            return None

    return asyncio.run(ask())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_trigger, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(commits, "POLL_SECONDS", 0.05)


def watching(folder: Path, run: str, **more: Any) -> StreamTrigger:
    return StreamTrigger(folder=str(folder), stream="events", run=run, since=SINCE, **more)


def test_it_never_fires_too_early_for_airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stream_trigger.LEAST_SECONDS >= 15
    monkeypatch.setattr(stream_trigger, "LEAST_SECONDS", 0.8)
    began = time.monotonic()
    assert first_event(watching(tmp_path, "aa11"), 5)["what"] == "ended"
    assert time.monotonic() - began >= 0.8


def test_a_living_driver_is_left_alone_and_a_dead_one_wakes_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_trigger, "LEAST_SECONDS", 0.0)
    with only_driver(tmp_path, "events") as me:
        a_beat(tmp_path, run=me.run)
        assert first_event(watching(tmp_path, me.run), 0.5) is None
        assert first_event(watching(tmp_path, "another life"), 5)["what"] == "ended"
    told = first_event(watching(tmp_path, me.run), 5)
    assert (told["what"], told["run"], told["since"]) == ("ended", me.run, SINCE)


def test_a_driver_that_no_longer_beats_wakes_the_task_and_one_with_an_odd_clock_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_trigger, "LEAST_SECONDS", 0.0)
    with only_driver(tmp_path, "events") as me:
        yesterday = Heartbeat("events", 1, State.WAITING, 0.0, beat_at=time.time() - 86_400, run=me.run)
        write_heartbeat(tmp_path, yesterday)
        assert first_event(watching(tmp_path, me.run, silent_seconds=5), 0.5) is None, "we ourselves saw no silence"
        assert first_event(watching(tmp_path, me.run, silent_seconds=0.3), 5)["what"] == "silent"


def test_it_wakes_the_task_when_the_day_is_over_and_not_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_trigger, "LEAST_SECONDS", 0.0)
    with only_driver(tmp_path, "events") as me:
        a_beat(tmp_path, run=me.run)
        assert first_event(watching(tmp_path, me.run), 0.4) is None
        assert first_event(watching(tmp_path, me.run, day_seconds=5), 5)["what"] == "over"
    want(tmp_path, Wish.STOP, "ann")
    assert first_event(watching(tmp_path, "", day_seconds=5), 5)["what"] == "over", "a stopped stream's task too"


def test_a_driver_that_starts_may_be_quiet_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_trigger, "LEAST_SECONDS", 0.0)
    with only_driver(tmp_path, "events") as me:
        write_heartbeat(tmp_path, Heartbeat("events", 1, State.STARTING, time.time(), run=me.run))
        assert first_event(watching(tmp_path, me.run, silent_seconds=0.2), 0.6) is None
        monkeypatch.setattr(stream_trigger, "STARTING_SECONDS", 0.3)
        assert first_event(watching(tmp_path, me.run, silent_seconds=0.2), 5)["what"] == "silent"


def test_a_recovery_is_waited_for_however_long_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_trigger, "LEAST_SECONDS", 0.0)
    with only_driver(tmp_path, "events", "recover"):
        assert first_event(watching(tmp_path, ""), 0.5) is None
    assert first_event(watching(tmp_path, ""), 5)["what"] == "wanted"


def test_a_stopped_stream_is_waited_for_until_somebody_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_trigger, "LEAST_SECONDS", 0.0)
    want(tmp_path, Wish.STOP, "ann")
    assert first_event(watching(tmp_path, ""), 0.4) is None
    want(tmp_path, Wish.RUN, "ann")
    assert first_event(watching(tmp_path, ""), 5)["what"] == "wanted"


def test_a_task_that_is_cleared_or_marked_stops_its_own_driver_and_wishes_nothing_of_the_stream(tmp_path: Path) -> None:
    asyncio.run(watching(tmp_path, "aa11").on_kill())
    asyncio.run(watching(tmp_path, "").on_kill())
    assert who_asked_to_stop(tmp_path, "aa11")
    assert [path.name for path in tmp_path.iterdir()] == ["stop-aa11"]
    assert wanted(tmp_path).wish is Wish.RUN


def test_a_trigger_can_be_made_anew_from_what_it_says_of_itself(tmp_path: Path) -> None:
    trigger = watching(tmp_path, "aa11", silent_seconds=7.0)
    path, words = trigger.serialize()
    assert path == "smelter.orchestration.stream_trigger.StreamTrigger"
    assert StreamTrigger(**words).watched == trigger.watched
    path, words = CommitTrigger(folder="x", least_seconds=7).serialize()
    assert path == "smelter.orchestration.commits.CommitTrigger"
    assert CommitTrigger(**words).serialize()[1] == words


def test_a_commit_is_one_event_and_many_commits_are_no_more_until_a_run_has_begun(tmp_path: Path) -> None:
    async def events() -> list[str]:
        heard: list[str] = []

        async def listen() -> None:
            async for event in CommitTrigger(str(tmp_path), least_seconds=0.0).run():
                heard.append(event.payload["token"])

        listener = asyncio.create_task(listen())
        for number in range(5):
            a_beat(tmp_path, f"t{number}")
            await asyncio.sleep(0.2)
        assert heard == ["t0"], "the run of the first event has not begun"
        take_up(tmp_path)
        await asyncio.sleep(0.3)
        assert heard == ["t0"], "the run began with the last commit: there is nothing new"
        a_beat(tmp_path, "t5")
        await asyncio.sleep(0.3)
        listener.cancel()
        return heard

    assert asyncio.run(events()) == ["t0", "t5"]


def test_without_a_commit_or_with_one_that_was_taken_up_there_is_no_event(tmp_path: Path) -> None:
    trigger = CommitTrigger(str(tmp_path), least_seconds=0.0)
    assert first_event(trigger, 0.3) is None
    a_beat(tmp_path)
    take_up(tmp_path)
    assert first_event(trigger, 0.3) is None
    a_beat(tmp_path, "t1")
    take_up(tmp_path)
    assert first_event(CommitTrigger(str(tmp_path), least_seconds=0.0), 0.3) is None, "also after a restart"


def test_events_keep_their_distance_whatever_the_clock_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def events(least_seconds: float) -> list[str]:
        heard: list[str] = []

        async def listen() -> None:
            async for event in CommitTrigger(str(tmp_path), least_seconds=least_seconds).run():
                heard.append(event.payload["token"])

        listener = asyncio.create_task(listen())
        for number in range(3):
            a_beat(tmp_path, f"t{number}")
            await asyncio.sleep(0.3)
            take_up(tmp_path)
            monkeypatch.setattr(time, "time", lambda: 0.0)
            await asyncio.sleep(0.3)
        listener.cancel()
        return heard

    assert asyncio.run(events(60)) == ["t0"]
    (tmp_path / "taken").unlink()
    assert asyncio.run(events(0.1)) == ["t0", "t1", "t2"]


def test_a_run_that_never_comes_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_beat(tmp_path, "t2")
    monkeypatch.setattr(commits, "PATIENCE_SECONDS", 0.3)
    trigger = CommitTrigger(str(tmp_path), least_seconds=0.0)
    assert first_event(trigger, 5) == {"token": "t2"}
    assert first_event(trigger, 5) == {"token": "t2"}
