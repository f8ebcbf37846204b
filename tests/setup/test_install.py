"""`make setup` either finishes, or says in one sentence why not and leaves nothing half-installed."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from machines import PROJECT, SYSTEM_PYTHON, Machine, a_wheel, write_program


def assert_stopped(run: subprocess.CompletedProcess[str], machine: Machine, *said: str) -> None:
    """One sentence, exit code 3, no traceback, and no environment."""
    assert run.returncode == 3, run.stderr
    assert len(run.stderr.splitlines()) == 1, run.stderr
    for words in said:
        assert words in run.stderr
    assert "Traceback" not in run.stdout + run.stderr
    assert not machine.venv.exists()


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_402", "26.0.1"])
def test_another_java_is_named_and_refused(machine: Machine, version: str) -> None:
    machine.has_java(version)
    assert_stopped(machine.set_up(), machine, "Java 17 is needed", f"is Java {version}", "JAVA_HOME")
    assert not (machine.project / "build").exists()


def test_a_machine_without_java_is_told_so(machine: Machine) -> None:
    (machine.bin / "java").unlink()
    machine.environ["PATH"] = str(machine.bin)
    assert_stopped(machine.set_up(), machine, "there is no `java` on PATH", "install a Java 17 runtime")


def test_java_home_wins_over_path(machine: Machine, tmp_path: Path) -> None:
    write_program(tmp_path / "jdk" / "bin" / "java", "echo 'openjdk version \"11.0.2\"' >&2")
    machine.environ["JAVA_HOME"] = str(tmp_path / "jdk")
    assert_stopped(machine.set_up(), machine, f"{tmp_path}/jdk/bin/java is Java 11.0.2")
    machine.environ["JAVA_HOME"] = str(tmp_path / "empty")
    assert_stopped(machine.set_up(), machine, f"JAVA_HOME is {tmp_path}/empty, which has no bin/java")


def test_a_java_that_does_not_run_is_quoted(machine: Machine) -> None:
    write_program(machine.bin / "java", "echo 'libjli.so: cannot open shared object file' >&2; exit 127")
    assert_stopped(machine.set_up(), machine, "libjli.so: cannot open shared object file")


def test_another_python_is_named_and_refused(machine: Machine) -> None:
    install = machine.project / "include" / "install.py"
    pretend = f"import sys, runpy; sys.version_info = (3, 12, 1); runpy.run_path({str(install)!r}, run_name='__main__')"
    run = subprocess.run([SYSTEM_PYTHON, "-c", pretend], capture_output=True, text=True, check=False)
    assert_stopped(run, machine, "Python 3.11 is needed, but this is Python 3.12.1")


def test_an_unreachable_index_leaves_no_environment(machine: Machine) -> None:
    machine.environ.update(
        {
            "PIP_INDEX_URL": "http://127.0.0.1:9/",
            "PIP_RETRIES": "0",
            "PIP_FIND_LINKS": "",
            "PIP_CONFIG_FILE": os.devnull,
        }
    )
    run = machine.set_up()
    assert_stopped(run, machine, "the package index cannot be reached", "check the network", "build/setup.log")
    assert "wheel" in (machine.project / "build" / "setup.log").read_text("utf-8")


def test_the_lock_installs_also_when_one_of_its_packages_has_a_newer_version(machine: Machine, tmp_path: Path) -> None:
    locked = [a_wheel(tmp_path, "melt", "1.0", needs="ore[rich]>=1.0"), a_wheel(tmp_path, "ore", "1.0", extra="rich")]
    a_wheel(tmp_path, "ore", "2.0", extra="rich")
    (machine.project / "requirements.txt").write_text("".join(f"{line}\n" for line in locked), "utf-8")
    machine.environ.update({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull})
    run = machine.set_up()
    assert "✓ 2 packages, each with its hash" in run.stdout, (machine.project / "build" / "setup.log").read_text(
        "utf-8"
    )


def test_the_lock_has_all_that_its_packages_need() -> None:
    check = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, f"{check.stdout}\nwrite the lock anew: make lock"


def test_a_disk_that_fills_up_leaves_no_environment(machine: Machine) -> None:
    machine.has_uv("echo 'error: Failed to write: No space left on device (os error 28)' >&2; exit 1")
    assert_stopped(machine.set_up(), machine, "the disk is full", "free some room", "build/setup.log")


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device: 'a.whl'", "the disk is full"),
        ("error: Hash mismatch for `wheel==99.0`", "does not match its hash"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "does not match its hash"),
        ("error: client error (Connect): dns error: failed to lookup address", "the package index cannot be reached"),
        ("WARNING: Retrying after: NewConnectionError\nERROR: No matching", "the package index cannot be reached"),
        (
            "Collecting lazy-object-proxy==1.13.0\n  Downloading lazy_object_proxy.whl\nERROR: a new one",
            "ERROR: a new one",
        ),
        ("Error: ensurepip is not available", "this Python lacks the venv module"),
        ("error: something new\n\n", "error: something new"),
    ],
)
def test_the_log_tells_what_stopped_the_packages(output: str, sentence: str) -> None:
    place = PROJECT / "include" / "install.py"
    assert sentence in runpy.run_path(str(place))["cause_of"](output)[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk of one's own needs root")
def test_a_small_disk_is_refused_before_anything_is_written(machine: Machine, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", small], check=False).returncode != 0:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        subprocess.run(["cp", "-r", machine.project, small], check=True)
        there = Machine(small / "smelter", machine.bin, machine.environ)
        assert_stopped(there.set_up(), there, "the disk is too full", "needs 4 GiB and 0.0 GiB are free")
    finally:
        subprocess.run(["umount", small], check=True)


def test_an_interrupted_set_up_leaves_no_environment(machine: Machine) -> None:
    machine.has_uv('touch "$SCRATCH/uv.running"; exec sleep 60')
    running = machine.start_set_up()
    wait_for(machine.project / "uv.running")
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=30)
    assert_stopped(subprocess.CompletedProcess([], running.returncode, out, err), machine, "interrupted")


def test_a_finished_set_up_is_not_done_again(machine: Machine) -> None:
    machine.has_working_uv()
    first = machine.set_up()
    assert first.returncode == 0, first.stderr
    assert (machine.venv / "bin" / "smelt").exists()
    assert all(line.startswith(("✓", "  ")) and line.endswith((" s", ")")) for line in first.stdout.splitlines())

    started = time.monotonic()
    assert machine.set_up().returncode == 0
    assert time.monotonic() - started < 2
    assert calls(machine) == 1

    with (machine.project / "pyproject.toml").open("a") as project:
        project.write("\n# changed\n")
    assert machine.set_up().returncode == 0
    assert calls(machine) == 1, "only Smelter itself is installed again"

    (machine.venv / ".smelter-complete").unlink()  # what kill -9 leaves behind
    assert machine.set_up().returncode == 0
    assert calls(machine) == 2


def test_two_set_ups_at_once_install_once(machine: Machine) -> None:
    machine.has_working_uv(before='touch "$SCRATCH/uv.running"; sleep 1')
    first = machine.start_set_up()
    wait_for(machine.project / "uv.running")
    second = machine.set_up()
    first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "waiting for another set-up" in second.stdout
    assert calls(machine) == 1


def calls(machine: Machine) -> int:
    return len((machine.project / "uv.calls").read_text("utf-8").splitlines())


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never appeared"
        time.sleep(0.05)
