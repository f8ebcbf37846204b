"""The stream as a process of its own, started by spark-submit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smelter.cli.main import run

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@pytest.mark.jvm
def test_the_job_runs_under_spark_submit(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert run(["--lake", str(lake), "produce", "events", "--count", "50", "--seed", "1"]) == 0
    environ = {**os.environ, "SMELTER_LAKE": str(lake), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    words = [BIN / "spark-submit", "--driver-class-path", f"{PROJECT}/.jars/*", PROJECT / "jobs" / "ingest_bronze.py"]
    done = subprocess.run(
        [*words, "events", "--drain"], env=environ, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "events: 1 file, 50 records: 50 in bronze, 0 in dead letters" in done.stdout
    assert run(["--lake", str(lake), "reconcile"]) == 0
