"""`smelt bench replay` in its shortest form: commands and runs are measured, and the ratios follow from the numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smelter.bench.replay import ReplayBench
from smelter.bench.silver import Cost
from smelter.prove.processes import QUICK_JVM

SHORT = """
from smelter.bench import replay
from smelter.cli.main import main
replay.ROUNDS, replay.COMMAND_ROUNDS = 1, 1
main()
"""


def test_the_ratios_are_of_rounds_in_the_middle_without_the_first() -> None:
    bronze = (Cost(9, 9), Cost(2, 4), Cost(1, 4), Cost(3, 4))
    replayed = (Cost(9, 9), Cost(4, 8), Cost(3, 8), Cost(8, 8))
    again = (Cost(10, 1), Cost(5, 1), Cost(1, 1))
    found = ReplayBench({}, 100, {"ls": (Cost(1, 1), Cost(5, 1), Cost(2, 1))}, bronze, replayed, again)
    assert [round(ratio.value, 3) for ratio in found.ratios] == [2, 0.5, 0.5]
    assert [row[:2] for row in found.rows()] == [
        ("ls", ""), ("bronze", "50"), ("replay", "25"), ("undone, and replayed again", "20"),
    ]  # fmt: skip


@pytest.mark.jvm
def test_the_command_measures_what_people_wait_for_and_both_runs(tmp_path: Path) -> None:
    words = ["bench", "replay", "--letters", "1000", "--output", str(tmp_path)]
    environ = {**os.environ, "JDK_JAVA_OPTIONS": QUICK_JVM}
    done = subprocess.run(
        [sys.executable, "-c", SHORT, *words], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "replay.json").read_text("utf-8"))
    assert set(found["commands"]) == {"ls", "plan, nothing passes", "plan, all pass"}
    assert (len(found["bronze"]), len(found["replay"]), len(found["again"])) == (2, 2, 1)
    assert "every round" in (tmp_path / "replay.md").read_text("utf-8")
