"""The DAGs as Airflow's processor sees them, parsed in a process of its own: Airflow is heavy, and keeps a home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="smelter-airflow-")  # before anything imports Airflow

PROJECT = Path(__file__).resolve().parents[2]
DAGS = PROJECT / "dags"
PARSER = Path(__file__).with_name("parse_dags.py")
ASKING = {"replay_dead_letters", "undo_replay", "rollback_table", "forget_person"}
PLATFORM = {"reconcile", "housekeeping", "dead_letters", "maintenance", *ASKING}
ASKED_AT = datetime(2026, 11, 2, 12, tzinfo=UTC)


def parse(folder: Path, home: Path, environment: Mapping[str, str] | None = None, *words: str) -> dict[str, Any]:
    """What Airflow finds in a folder of DAG files, with what it took to find it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "SMELTER_"))}
    done = subprocess.run(
        [sys.executable, str(PARSER), str(folder), *words],
        env={**clean, "AIRFLOW_HOME": str(home), **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The platform's own DAGs over a lake that does not exist yet, with one dataset that is drained on a timetable."""
    home = tmp_path_factory.mktemp("airflow")
    contracts = home / "contracts"
    contracts.mkdir()
    for file in (PROJECT / "include" / "contracts").glob("*.yaml"):
        (contracts / file.name).write_text(file.read_text("utf-8"), "utf-8")
    hourly = "dataset: hourly\nversion: 1\nfields:\n  id: {type: long}\nsource: {files: landing/hourly, every: 1h}\n"
    (contracts / "hourly.yaml").write_text(hourly, "utf-8")
    environment = {"SMELTER_LAKE": str(home / "lake"), "SMELTER_CONTRACTS": str(contracts)}
    return parse(DAGS, home, environment)


def each(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The DAGs that were found, by name."""
    return sorted(found["dags"].items())


def waits_for_a_person(dag: dict[str, Any]) -> bool:
    """Does somebody have to say yes?"""
    return any(task["kind"] == "ApproveOperator" for task in dag["tasks"].values())


def a_context(**form: Any) -> Any:
    """What Airflow gives to a task of a run whose form was filled in like that."""
    return {"params": form, "dag_run": SimpleNamespace(run_after=ASKED_AT)}


def filled(params: dict[str, Any], **answers: Any) -> dict[str, Any]:
    """A form as Airflow gives it to a task, checked as Airflow checks it."""
    from airflow.sdk.definitions.param import ParamsDict

    form = ParamsDict(params)
    form.update(answers)
    return {**form.validate(), "asked_at": ASKED_AT.isoformat()}
