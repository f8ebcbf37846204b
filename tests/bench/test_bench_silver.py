"""`smelt bench silver` in its shortest form: files are told, and the ratios follow from the numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smelter.bench.silver import CHECKS, Cost, Gate, Grown, SilverBench
from smelter.prove.processes import QUICK_JVM

SHORT = """
from smelter.bench import silver
from smelter.cli.main import main
silver.ROUNDS, silver.GATE_ROUNDS = 2, 1
main()
"""


def test_the_ratios_are_of_rounds_in_the_middle_without_the_first() -> None:
    small = Grown(10, 5, 4, 2, (Cost(9, 9), Cost(1, 2), Cost(2, 2), Cost(3, 2)))
    large = Grown(100, 5, 40, 2, (Cost(9, 9), Cost(3, 3), Cost(3, 3), Cost(3, 3)))
    gate = Gate(10, (Cost(10, 20), Cost(11, 20), Cost(90, 20)), (Cost(22, 30), Cost(11, 30), Cost(12, 30)))
    found = SilverBench({}, (small, large), gate)
    assert [round(ratio.value, 3) for ratio in found.ratios] == [1.5, 1.5, round(12 / 11, 3), 1.5]
    assert "2 of 40 files scanned" in found.as_markdown()


def test_there_are_twenty_checks() -> None:
    assert CHECKS.count("check: ") == 20


@pytest.mark.jvm
def test_the_command_measures_both_tables_and_both_runs(tmp_path: Path) -> None:
    words = ["bench", "silver", "--small", "1000", "--large", "2000", "--increment", "100", "--output", str(tmp_path)]
    environ = {**os.environ, "JDK_JAVA_OPTIONS": QUICK_JVM}
    done = subprocess.run(
        [sys.executable, "-c", SHORT, *words], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "silver.json").read_text("utf-8"))
    assert [(one["table_rows"], len(one["rounds"])) for one in found["grown"]] == [(1000, 2), (2000, 2)]
    assert all(one["files_scanned"] <= one["files"] for one in found["grown"])
    assert len(found["gate"]["checked"]) == len(found["gate"]["without"]) == 1
    assert "every round" in (tmp_path / "silver.md").read_text("utf-8")
