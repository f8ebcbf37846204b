"""Each process of its own, started by spark-submit: the stream, silver, gold, replay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smelter.cli.main import run
from smelter.prove.processes import QUICK_JVM

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def submit(lake: Path, job: str, *words: str) -> str:
    environ = {**os.environ, "SMELTER_LAKE": str(lake), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    environ["JDK_JAVA_OPTIONS"] = QUICK_JVM
    few = ["--conf", "spark.sql.shuffle.partitions=2"]  # Spark's own 200 are for a cluster
    jars = ["--driver-class-path", f"{PROJECT}/.jars/*"]
    submitted = [BIN / "spark-submit", *jars, *few, PROJECT / "jobs" / job, *words]
    done = subprocess.run(submitted, env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.jvm
def test_the_jobs_run_under_spark_submit(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert run(["--lake", str(lake), "produce", "events", "--count", "50", "--seed", "1"]) == 0
    (lake / "landing" / "events" / "bad.json").write_text('{"user_id": "ann"}\n' * 3)
    said = submit(lake, "ingest_bronze.py", "events", "--drain")
    assert "events: 2 files, 53 records: 50 in bronze, 3 in dead letters" in said
    assert "silver.events: 50 new of 50 rows of bronze" in submit(lake, "build_silver.py", "events")
    assert "gold.sessions: " in submit(lake, "build_gold.py", "events")
    said = submit(lake, "replay.py", "events")
    assert "events: 0 letters went to bronze under events@1, 3 failed again and stay open" in said
    assert run(["--lake", str(lake), "reconcile"]) == 0
