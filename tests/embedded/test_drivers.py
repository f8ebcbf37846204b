"""Streams that the platform started end with it, after their running batch; a person's own are left alone."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

from platforms import Platform, wait_until

from smelter.embedded.census import Process, families, processes_of
from smelter.supervise.lock import holder


def test_airflow_ends_before_the_driver_which_finishes_its_batch(platform: Platform) -> None:
    platform.up()
    driver = platform.start_driver("events")
    _, said = platform.down()
    assert platform.diary("end") == ["triggerer", "scheduler", "dag-processor", "api-server", "driver-events"]
    assert driver.wait() == 0
    assert said[-1].startswith(f"stream events (pid {driver.pid})")
    assert platform.diary("lost") == []


def test_a_driver_that_does_not_go_is_killed(platform: Platform) -> None:
    platform.up()
    driver = platform.start_driver("events")
    os.kill(driver.pid, signal.SIGSTOP)
    _, said = platform.down()
    assert "had to be killed" in said[-1]
    assert driver.wait() == -signal.SIGKILL
    assert platform.processes() == []  # its JVM neither


def test_a_new_keeper_leaves_the_driver_and_what_is_below_it_alone(platform: Platform) -> None:
    first = platform.up()
    driver = platform.start_driver("events")
    os.kill(first.keeper, signal.SIGKILL)
    wait_until(lambda: holder(platform.home.root) is None)
    platform.up()
    assert driver.poll() is None
    assert platform.diary("lost") == []
    platform.down()
    assert driver.wait() == 0


def test_a_driver_that_a_person_runs_without_the_platforms_home_is_left_alone(platform: Platform) -> None:
    platform.up()
    driver = platform.start_driver("taxi_trips", by_hand=True)
    platform.down()
    assert driver.poll() is None
    driver.terminate()
    assert driver.wait() == 0


def test_the_driver_of_another_lake_is_left_alone(platform: Platform, tmp_path: Path) -> None:
    other = Platform(tmp_path / "lake2", platform.port)
    other.home.make()
    platform.up()
    driver = other.start_driver("events")
    platform.down()
    assert driver.poll() is None
    other.down()
    assert driver.wait() == 0


def test_whoever_calls_is_not_taken_for_the_platform(platform: Platform) -> None:
    """A person may have named the home, to ask Airflow something, in the shell from which `smelt down` is called."""
    platform.home.make()
    look = "import sys; from pathlib import Path; from smelter.embedded.census import processes_of"
    look += "; from smelter.embedded.home import Home; print(len(processes_of(Home(Path(sys.argv[1])))))"
    words = ["sh", "-c", '"$0" "$@"; true', sys.executable, "-c", look, str(platform.home.root)]
    said = subprocess.run(words, env=platform.environ, capture_output=True, text=True, check=True).stdout
    assert said == "0\n"
    assert processes_of(platform.home) == []


def test_a_process_with_a_terminal_is_a_persons(platform: Platform) -> None:
    platform.home.make()
    person, terminal = pty.fork()
    if person == 0:
        os.execvpe("sleep", ["sleep", "600"], platform.environ)
    wait_until(lambda: Path(f"/proc/{person}/cmdline").read_bytes().startswith(b"sleep"))
    assert platform.down() == (False, [])
    assert os.waitpid(person, os.WNOHANG) == (0, 0)
    os.kill(person, signal.SIGKILL)
    os.waitpid(person, 0)
    os.close(terminal)


def test_a_family_is_everything_below_its_head() -> None:
    line = [Process(2, 0, 1, ()), Process(3, 0, 2, ()), Process(4, 0, 3, ()), Process(9, 0, 1, ())]
    assert families(line[:1], reversed(line)) == {2, 3, 4}
