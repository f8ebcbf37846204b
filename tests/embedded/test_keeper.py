"""The keeper starts its components in order, restarts who dies, stops in order, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import ExitStack

from platforms import COMPONENTS, KEEPER, Platform, wait_until

from smelter.embedded.start import running
from smelter.processes import start_ticks
from smelter.supervise.lock import holder, only_driver


def test_the_api_server_is_first_and_those_that_talk_to_it_come_when_it_listens(platform: Platform) -> None:
    platform.will("api-server.slow")
    platform.up()
    begun = platform.diary("begin")
    assert begun[0] == "migrate"
    assert begun.index("api-server") < min(begun.index("scheduler"), begun.index("triggerer"))


def test_a_second_start_changes_nothing(platform: Platform) -> None:
    first = platform.up()
    assert platform.up() == first
    assert len(platform.diary("begin")) == 5


def test_the_database_is_made_once(platform: Platform) -> None:
    platform.up()
    platform.down()
    platform.up()
    assert platform.diary("begin").count("migrate") == 1


def test_one_that_dies_is_restarted_and_the_log_has_the_numbers(platform: Platform) -> None:
    platform.up()
    os.kill(platform.pid_of("scheduler"), signal.SIGKILL)
    wait_until(lambda: platform.diary("begin").count("scheduler") == 2)
    assert "component_died name=scheduler code=-9 restart=1" in platform.log()
    wait_until(lambda: any(child.restarts == 1 for child in (running(platform.home) or platform.up()).children))


def test_they_stop_in_order_and_nothing_is_left(platform: Platform) -> None:
    platform.up(sample=True)
    wait_until(lambda: "sample" in platform.diary("begin"))
    was_there, said = platform.down()
    assert was_there
    assert "triggerer" in said[0]
    assert platform.diary("end") == ["sample", "triggerer", "scheduler", "dag-processor", "api-server"]
    assert platform.processes() == []


def test_one_that_does_not_go_is_killed_with_all_that_it_started(platform: Platform) -> None:
    platform.will("scheduler.stubborn")
    platform.will("scheduler.works")
    platform.up()
    wait_until(lambda: any(process.words[0] == "sleep" for process in platform.processes()))
    _, said = platform.down()
    assert "component_killed name=scheduler code=-9" in platform.log()
    assert any("sleep 600" in line for line in said)
    assert platform.processes() == []


def test_a_keeper_that_was_killed_leaves_nothing_after_down(platform: Platform) -> None:
    standing = platform.up()
    os.kill(standing.keeper, signal.SIGKILL)
    wait_until(lambda: holder(platform.home.root) is None)
    assert len(platform.processes()) == 4
    was_there, _ = platform.down()
    assert was_there
    assert platform.processes() == []
    assert platform.diary("end") == ["triggerer", "scheduler", "dag-processor", "api-server"]


def test_a_new_keeper_starts_no_second_of_what_a_killed_one_left(platform: Platform) -> None:
    first = platform.up()
    os.kill(first.keeper, signal.SIGKILL)
    wait_until(lambda: holder(platform.home.root) is None)
    second = platform.up()
    assert second.cleared == 4
    assert all(start_ticks(child.pid) != child.ticks for child in first.children)
    assert sorted(child.name for child in second.children) == sorted(COMPONENTS)
    wait_until(lambda: len(platform.processes()) == 5)  # with the keeper


def test_a_task_that_a_killed_keeper_left_is_stopped_before_the_next_start(platform: Platform) -> None:
    platform.will("scheduler.works")
    first = platform.up()
    wait_until(lambda: len(_tasks(platform)) == 1)
    left = _tasks(platform)
    os.kill(first.keeper, signal.SIGKILL)
    wait_until(lambda: holder(platform.home.root) is None)
    assert platform.up().cleared == 5
    assert not left & _tasks(platform)


def _tasks(platform: Platform) -> set[int]:
    return {process.pid for process in platform.processes() if process.words[0] == "sleep"}


def test_two_starts_at_once_have_one_keeper(platform: Platform) -> None:
    platform.home.make()
    words = [*KEEPER, str(platform.home.root), str(platform.port), str(platform.lake)]
    others = [subprocess.Popen(words, env=platform.environ, stdout=subprocess.DEVNULL) for _ in range(2)]
    platform.up()
    wait_until(lambda: any(other.poll() is not None for other in others))
    time.sleep(0.5)
    assert [platform.diary("begin").count(name) for name in COMPONENTS] == [1, 1, 1, 1]
    platform.down()
    for other in others:
        other.wait()


def test_a_start_that_was_killed_half_way_is_cleaned_by_down(platform: Platform) -> None:
    platform.will("migrate.slow")
    words = [*KEEPER, str(platform.home.root), str(platform.port), str(platform.lake)]
    platform.home.make()
    keeper = subprocess.Popen(words, env=platform.environ, stdout=subprocess.DEVNULL)
    wait_until(lambda: "migrate" in platform.diary("begin"))
    keeper.kill()
    keeper.wait()
    was_there, said = platform.down()
    assert was_there
    assert "migrate" in said[0]
    assert platform.processes() == []


def test_down_while_the_database_is_made_ends_it_and_the_next_start_makes_it(platform: Platform) -> None:
    platform.will("migrate.slow")
    platform.home.make()
    words = [*KEEPER, str(platform.home.root), str(platform.port), str(platform.lake)]
    keeper = subprocess.Popen(words, env=platform.environ, stdout=subprocess.DEVNULL)
    wait_until(lambda: "migrate" in platform.diary("begin"))
    platform.down()
    assert keeper.wait() == 0
    assert not platform.home.migrated.exists()
    platform.up()
    assert platform.diary("begin").count("migrate") == 2


def test_a_start_during_a_stop_waits_for_it_and_starts_anew(platform: Platform) -> None:
    platform.will("api-server.stubborn")  # so that the stop takes a moment
    first = platform.up()
    os.kill(first.keeper, signal.SIGTERM)
    wait_until(lambda: "dag-processor" in platform.diary("end"))
    second = platform.up()
    assert second.keeper != first.keeper
    assert len(platform.processes()) == 5


def test_a_keeper_that_is_just_letting_go_of_its_lock_is_followed_by_another(platform: Platform) -> None:
    """It has taken its word on what it keeps away, and holds its lock for a moment more."""
    platform.home.make()
    with ExitStack() as at_its_end:
        at_its_end.enter_context(only_driver(platform.home.root, "keeper"))
        threading.Timer(0.5, at_its_end.close).start()
        assert platform.up().keeper != os.getpid()
    assert len(platform.processes()) == 5


def test_when_nothing_runs_down_says_so_and_may_be_repeated(platform: Platform) -> None:
    assert platform.down() == (False, [])
    platform.up()
    assert platform.down()[0]
    assert platform.down() == (False, [])


def test_the_sample_comes_when_it_is_asked_for_and_goes_with_down(platform: Platform) -> None:
    platform.up()
    assert "sample" not in platform.diary("begin")
    platform.up(sample=True)
    wait_until(lambda: "sample" in platform.diary("begin"))
    platform.up()
    time.sleep(0.6)
    assert platform.diary("end") == []
    platform.down()
    platform.up()
    time.sleep(0.6)
    assert platform.diary("begin").count("sample") == 1


def test_a_sample_that_has_written_everything_begins_anew_and_is_no_crash(platform: Platform) -> None:
    platform.will("sample.dies", "0")
    platform.up(sample=True)
    wait_until(lambda: platform.diary("begin").count("sample") > 2)
    assert "sample_finished" in platform.log()
    assert "component_died" not in platform.log()


def test_a_log_that_has_grown_large_is_turned_over(platform: Platform) -> None:
    from smelter.embedded import children

    platform.home.make()
    log = platform.home.log_of("scheduler")
    with log.open("wb") as file:
        file.truncate(children.MOST_LOG_BYTES + 1)
    kept = children.Children(platform.home, 1)
    kept._logs_looked_at -= 2 * children._LOOK_AT_LOGS_SECONDS
    kept.turn_over_logs()
    assert log.stat().st_size == 0
    assert log.with_suffix(".log.1").stat().st_size == children.MOST_LOG_BYTES + 1
