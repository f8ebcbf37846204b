"""A driver is started or found, outlives whoever started it, and there is never a second one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import tiny

from smelter.errors import Refused, Unreachable
from smelter.processes import start_ticks
from smelter.supervise import lock
from smelter.supervise.driver import is_alive, kill, start, wait_for
from smelter.supervise.launch import environment_of
from smelter.supervise.lock import STREAM, holder, only_driver
from smelter.supervise.requests import Wish, ask_to_stop, want
from smelter.supervise.standing import Condition, ended, standing_of

_STARTER = """
import sys; from pathlib import Path
sys.path.insert(0, {tests!r})
from conftest import tiny
from smelter.supervise.driver import start
print(start(Path({folder!r}), "tiny", tiny(Path({folder!r}), {how!r})).run, flush=True)
"""


def soon(ask: Callable[[], bool], what: str) -> None:
    assert wait_for(ask, time.monotonic() + 20), what


def starter(folder: Path, how: str = "") -> subprocess.Popen[str]:
    code = _STARTER.format(tests=str(Path(__file__).parent), folder=str(folder), how=how)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_the_first_starts_a_driver_and_the_second_finds_it(folder: Path) -> None:
    first = start(folder, "tiny", tiny(folder))
    second = start(folder, "tiny", tiny(folder))
    assert (first.is_new, second.is_new) == (True, False)
    assert (second.run, second.pid) == (first.run, first.pid)
    soon(lambda: standing_of(folder).condition is Condition.WAITING, "it beats")


def test_of_many_who_start_it_at_once_one_does_and_all_have_the_same_driver(folder: Path) -> None:
    starters = [starter(folder, "slow") for _ in range(6)]
    runs = {one.communicate()[0].strip() for one in starters}
    assert len(runs) == 1
    assert is_alive(folder, runs.pop())


def test_a_driver_outlives_whoever_started_it(folder: Path) -> None:
    with starter(folder) as one:
        assert one.stdout is not None
        run = one.stdout.readline().strip()
        os.kill(one.pid, signal.SIGKILL)
    time.sleep(0.5)
    assert is_alive(folder, run)
    found = holder(folder)
    assert found is not None
    assert os.getsid(found.pid) == found.pid, "it has a session of its own"


def test_a_killed_driver_is_dead_at_once_and_the_next_start_makes_another(folder: Path) -> None:
    first = start(folder, "tiny", tiny(folder))
    soon(lambda: standing_of(folder).beat is not None, "it beats")
    os.kill(first.pid, signal.SIGKILL)
    soon(lambda: not is_alive(folder, first.run), "its lock is free")  # its zombie is our child, and holds nothing
    assert standing_of(folder).condition is Condition.KILLED
    assert ended(folder, first.run) is None
    second = start(folder, "tiny", tiny(folder))
    assert second.is_new
    assert second.run != first.run
    os.waitpid(first.pid, 0)


def test_a_driver_that_is_to_stop_is_waited_for_and_then_another_is_started(folder: Path) -> None:
    first = start(folder, "tiny", tiny(folder))
    ask_to_stop(folder, first.run, "a test")
    second = start(folder, "tiny", tiny(folder))
    assert second.is_new
    assert second.run != first.run
    assert is_alive(folder, second.run)


def test_a_driver_that_does_not_stop_is_in_the_way_and_no_second_is_started(folder: Path) -> None:
    first = start(folder, "tiny", tiny(folder, "deaf"))
    ask_to_stop(folder, first.run, "a test")
    with pytest.raises(Refused, match=f"still held by pid {first.pid}"):
        start(folder, "tiny", tiny(folder), patience_seconds=1)
    assert is_alive(folder, first.run)
    assert kill(folder, first.run)


def test_somebody_else_who_holds_the_lock_is_waited_for_and_never_taken_for_the_driver(folder: Path) -> None:
    over = threading.Event()

    def recovery() -> None:
        with only_driver(folder, "tiny", "recover"):
            over.wait(20)

    other = threading.Thread(target=recovery)
    other.start()
    soon(lambda: (found := holder(folder)) is not None and found.pid, "the recovery has the lock, and said who it is")
    assert standing_of(folder).condition is Condition.BUSY
    threading.Timer(1, over.set).start()
    driver = start(folder, "tiny", tiny(folder))
    other.join()
    assert driver.is_new


def test_a_driver_that_ends_before_it_begins_is_told_with_its_last_words(folder: Path) -> None:
    with pytest.raises(Unreachable, match="ended with 1: there is no landing folder"):
        start(folder, "tiny", tiny(folder, "fail"))
    assert holder(folder) is None


def test_a_driver_that_does_not_begin_in_time_is_ended(folder: Path) -> None:
    with pytest.raises(Unreachable, match="did not begin in time"):
        start(folder, "tiny", tiny(folder, "slow"), patience_seconds=0.5)
    time.sleep(1.2)
    assert holder(folder) is None


def test_a_stream_that_somebody_stopped_is_not_started(folder: Path) -> None:
    want(folder, Wish.STOP, "ann@host", "the disk is being changed")
    with pytest.raises(Refused, match=r"stopped by ann@host at .*: the disk is being changed") as refused:
        start(folder, "tiny", tiny(folder))
    assert refused.value.next_step == "smelt stream start tiny"
    want(folder, Wish.RUN, "ann@host")
    assert start(folder, "tiny", tiny(folder)).is_new


def test_a_driver_that_was_asked_to_end_says_that_it_ended_well(folder: Path) -> None:
    driver = start(folder, "tiny", tiny(folder))
    want(folder, Wish.STOP, "ann")
    soon(lambda: not is_alive(folder, driver.run), "it stops")
    last = ended(folder, driver.run)
    assert last is not None
    assert last.exit_code == 0
    assert standing_of(folder).condition is Condition.STOPPED


def test_a_pid_of_another_host_or_of_a_later_process_gets_no_signal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = start(folder, "tiny", tiny(folder))
    found = holder(folder)
    assert found is not None
    assert found.is_here
    assert not replace(found, started_ticks=found.started_ticks + 1).is_here
    monkeypatch.setattr(lock, "this_host", lambda: "another boot/another container")
    monkeypatch.setattr("smelter.supervise.driver.wait_for", lambda ask, _end: ask())
    assert not kill(folder, driver.run)
    assert start_ticks(driver.pid) is not None


def test_a_zombie_is_no_process() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    soon(lambda: start_ticks(child.pid) is None, "it has ended, and is not yet waited for")
    os.kill(child.pid, 0)
    child.wait()


def test_a_driver_gets_nothing_of_airflows_configuration() -> None:
    caller = {"AIRFLOW__CORE__FERNET_KEY": "secret", "AIRFLOW_HOME": "/x", "SMELTER_LAKE": "/l", "PATH": "/bin"}
    assert environment_of(caller) == {"AIRFLOW_HOME": "/x", "SMELTER_LAKE": "/l", "PATH": "/bin"}


def test_the_lock_names_this_life_of_the_driver(folder: Path) -> None:
    with only_driver(folder, "tiny") as first:
        assert holder(folder) == first
        assert first.role == STREAM
    with only_driver(folder, "tiny") as second:
        assert second.run != first.run
