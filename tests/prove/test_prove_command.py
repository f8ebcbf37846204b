"""`smelt prove` as a user meets it: what it offers, what it refuses, and how it ends when somebody has enough."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smelter.cli.main import run
from smelter.prove.points import POINTS
from smelter.prove.rounds import schedule

SMELT = Path(sys.executable).parent / "smelt"


def test_every_point_is_listed_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "--list"]) == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()] == [point.name for point in POINTS]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--only", "kill_jvn"], "there is no point `kill_jvn`; did you mean `kill_jvm`?"),
        (["--only", "xyz"], "there is no point `xyz`"),
        (["--rounds", "0"], "--rounds"),
        (["--rounds", "many"], "--rounds"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_what_has_no_meaning_is_refused_with_exit_code_2(
    words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prove", *words]) == 2
    assert answer in capsys.readouterr().err


def test_without_a_number_every_point_has_one_round() -> None:
    rounds = schedule(None, 5, None)
    assert [one.point for one in rounds] == list(POINTS)
    assert [one.seed for one in rounds] == [5 + number for number in range(len(POINTS))]


def test_a_round_depends_on_seed_and_number_alone() -> None:
    long = schedule(200, 5, None)
    assert len(long) == 200
    assert {one.point for one in long} == set(POINTS)
    again = schedule(1, long[136].seed, long[136].point)
    assert (again[0].point, again[0].seed) == (long[136].point, long[136].seed)
    assert long[136].command == f"smelt prove --only {again[0].point.name} --seed {again[0].seed} --rounds 1"


@pytest.mark.jvm
def test_ctrl_c_ends_it_in_order_and_leaves_nothing(tmp_path: Path) -> None:
    words = [SMELT, "prove", "--only", "kill_at_planned", "--seed", "1", "--rounds", "50"]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(tmp_path.glob("smelter-prove-*/r*/said")):
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopped after 0 of 50 rounds" in said
    assert said.splitlines()[-1] == "0 rounds: 0 lost, 0 doubled"
    assert list(tmp_path.glob("smelter-prove-*")) == []
    assert processes_of(tmp_path) == []


@pytest.mark.jvm
def test_when_it_is_killed_its_drivers_die_with_it(tmp_path: Path) -> None:
    words = [SMELT, "prove", "--only", "kill_at_random", "--seed", "1", "--rounds", "50"]
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(words, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=said, stderr=said)
    while not list(tmp_path.glob("smelter-prove-*/r*/said")):
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    end = time.monotonic() + 60
    while processes_of(tmp_path) and time.monotonic() < end:
        time.sleep(0.1)
    assert processes_of(tmp_path) == []


def processes_of(folder: Path) -> list[str]:
    """The command lines of processes that work in a folder."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if f"{folder}/smelter-prove-" in words:
                found.append(words)
    return found
