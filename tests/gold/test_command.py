"""`smelt gold` as a person runs it, and as a crash leaves it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import recount
from conftest import NewSilver
from silvers import MODELS, Silver, gold_rows, minute

from smelter.cli.main import run
from smelter.gold.models import Model
from smelter.lake.home import GOLD
from smelter.lake.tables import ensure_tables, find_table

JOB = Path(__file__).parents[2] / "jobs" / "build_gold.py"
ANSWERS = {"activity_per_minute": recount.activity_per_minute, "sessions": recount.sessions}


@pytest.fixture
def silver(new_silver: NewSilver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Silver:
    """A dataset with bronze, silver and two models of its own."""
    silver = new_silver().append(minute(1), minute(5), minute(30, user="bob"))
    ensure_tables(silver.lake, silver.contract)
    for name in ANSWERS:
        text = (MODELS / f"{name}.sql").read_text("utf-8").replace("silver.events", f"silver.{silver.name}")
        (tmp_path / f"{name}_{silver.name}.sql").write_text(text, "utf-8")
    monkeypatch.setenv("SMELTER_MODELS", str(tmp_path))
    monkeypatch.setenv("SMELTER_LAKE", str(silver.lake.root))
    return silver


def models(silver: Silver) -> list[Model]:
    return [silver.shipped(name) for name in ANSWERS]


@pytest.mark.jvm
def test_a_run_that_is_killed_between_two_tables_is_finished_by_the_next(
    silver: Silver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = subprocess.Popen([sys.executable, JOB, silver.name], stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert job.stderr is not None
    try:
        said = ""
        while "sessions" not in said and job.poll() is None:  # the first table is done, the second is begun
            said = job.stderr.readline()
        time.sleep(0.2)
    finally:
        job.send_signal(signal.SIGKILL)
        job.wait()
        job.stderr.close()
    first, second = models(silver)
    assert find_table(silver.lake, GOLD, first.name) is not None
    silver.append(minute(7), minute(31, user="bob"))
    report = silver.gold(first, second, wait_seconds=60)
    assert report.built[0].step.value == "windows"  # what was committed before the kill counts
    for answer, model in zip(ANSWERS.values(), (first, second), strict=True):
        assert gold_rows(silver, model) == answer(silver.rows.values())
    monkeypatch.setattr("smelter.gold.engine.start_spark", lambda *_words, **_more: pytest.fail("Spark was started"))
    assert run(["gold", silver.name]) == 0
    assert capsys.readouterr().out.count("nothing to do") == 2


@pytest.mark.jvm
def test_the_command_tells_what_failed_and_leaves_with_one(
    silver: Silver, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good, other = models(silver)
    assert run(["status", silver.name]) == 0
    assert f"gold.{good.name} is not built yet; smelt gold {silver.name}" in capsys.readouterr().out
    silver.gold(good, other)
    changed = tmp_path / f"{good.name}.sql"
    changed.write_text(changed.read_text("utf-8").replace("tumbling 1m", "tumbling 5m"), "utf-8")
    assert run(["gold", silver.name, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["step"] for one in told["tables"]] == ["nothing"]
    assert told["failed"][0]["next_step"] == f"smelt gold {silver.name} --rebuild"
    stray = changed.read_text("utf-8").replace(f"silver.{silver.name}", f"silver.{silver.name}x")
    (tmp_path / "stray.sql").write_text(stray, "utf-8")
    assert run(["gold", silver.name]) == 1
    said = capsys.readouterr()
    assert f"stray.sql: there is no dataset `{silver.name}x`, so it is not built; did you mean" in said.err
    assert f"gold.{other.name}: nothing to do" in said.out
    assert f"failed: gold.{good.name}" in said.err
    assert run(["status", silver.name]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  gold ")]
    assert lines[0].endswith(f"changed since its rows were made; smelt gold {silver.name} --rebuild")
    assert lines[1].endswith(f"gold.{other.name}: 2 rows, up to date")


def test_what_is_not_there_is_a_sentence(
    lake: object, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))
    assert run(["gold", "events"]) == 3
    said = capsys.readouterr().err
    assert "nothing has been ingested for events" in said
    assert "next: smelt ingest events --drain" in said
    (tmp_path / "broken.sql").write_text("-- about: x\nselect 1")
    monkeypatch.setenv("SMELTER_MODELS", str(tmp_path))
    assert run(["gold", "events"]) == 1
    assert "broken.sql:1: the header has no `-- source: …`" in capsys.readouterr().err
