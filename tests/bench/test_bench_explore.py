"""`smelt bench explore` in its shortest form: the same answers from a table and from its files, and what each took."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

SMELT = "from smelter.cli.main import main; main()"


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-c", SMELT, "bench", "explore", *words]
    return subprocess.run(whole, capture_output=True, text=True, check=False)


def test_the_command_asks_a_table_and_its_bare_files_in_turns(tmp_path: Path) -> None:
    done = bench("--rows", "20000", "--files", "4", "--rounds", "3", "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "explore.json").read_text("utf-8"))
    assert (found["rows"], found["files"]) == (20_000, 4)
    asked = {one["name"]: one for one in found["asked"]}
    assert list(asked) == ["opening, to the first answer", "count(*)", "one day", "group by", "one id"]
    assert all(len(one[side]) == 3 for one in asked.values() for side in ("smelter", "bare"))
    ratios = {one["name"]: one for one in found["ratios"]}
    for name, one in asked.items():
        for word, what in (("s", "seconds"), ("CPU-s", "cpu_seconds")):
            smelter, bare = (statistics.median(cost[what] for cost in one[side][1:]) for side in ("smelter", "bare"))
            assert ratios[f"{name}: {word}, smelter / bare files"]["value"] == pytest.approx(smelter / bare)
    assert ratios["one id: s, smelter / bare files"]["wanted"] == "1.3 or less"
    assert "in one run" in (tmp_path / "explore.md").read_text("utf-8")


def test_more_files_than_rows_are_refused() -> None:
    done = bench("--rows", "1000", "--files", "1001")
    assert done.returncode == 2
    assert "fewer --files" in done.stderr
