"""`smelt bench maintain` in its shortest form: questions before and after, and a look at tables that need nothing."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from smelter.prove.processes import QUICK_JVM

SHORT = """
from smelter.bench import maintenance
from smelter.cli.main import main
maintenance.ROUNDS, maintenance.LOOKS = 2, 1
main()
"""


@pytest.mark.jvm
def test_the_command_measures_a_table_before_and_after_and_a_look_at_healthy_ones(tmp_path: Path) -> None:
    words = ["bench", "maintain", "--commits", "20", "--tables", "4", "--output", str(tmp_path)]
    environ = {**os.environ, "JDK_JAVA_OPTIONS": QUICK_JVM}
    done = subprocess.run(
        [sys.executable, "-c", SHORT, *words], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "maintain.json").read_text("utf-8"))
    before, after = found["numbers"]
    assert (before["rows"], after["rows"]) == (20 * 20, 20 * 20)
    assert (before["files"], after["files"]) == (20, 1)
    assert (before["snapshots"], found["commits"]) == (20, 20)
    assert after["snapshots"] < 5
    assert (found["tables"], len(found["looks"])) == (5, 1)
    ratios = {one["name"]: one["value"] for one in found["ratios"]}
    faster = statistics.median(found["before"]["count(*)"]) / statistics.median(found["after"]["count(*)"])
    assert ratios["count(*), before / after"] == pytest.approx(faster, abs=0.01)
    assert "in one run" in (tmp_path / "maintain.md").read_text("utf-8")
