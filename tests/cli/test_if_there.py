"""`--if-there`: on a new lake a timetable is green, and a name that nobody knows is still refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smelter.cli.main import run
from smelter.contracts import find_contract
from smelter.lake.home import Lake
from smelter.lake.tables import ensure_tables
from smelter.settings import Settings

COMMANDS = ("silver", "gold", "reconcile")
NOTHING = "nothing has been ingested for events"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))
    return tmp_path / "lake"


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_ingested_yet_is_a_failure_only_without_the_flag(
    root: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "events"]) == 3
    capsys.readouterr()
    assert run([command, "events", "--if-there"]) == 0
    assert capsys.readouterr().out == f"{NOTHING}\n"
    assert run([command, "events", "--if-there", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == ([] if command == "reconcile" else {"dataset": "events", "nothing": NOTHING})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dataset_without_a_contract_or_a_table_is_refused_all_the_same(
    root: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "evnts", "--if-there"]) == 3
    assert "nothing has been ingested for evnts; did you mean `events`?" in capsys.readouterr().err


def test_a_lake_without_any_dataset_has_nothing_to_reconcile(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reconcile"]) == 3
    assert run(["reconcile", "--if-there"]) == 0
    assert capsys.readouterr().out == "nothing has been ingested yet\n"


def test_gold_waits_for_silver_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(lake=root)
    ensure_tables(Lake.at(settings), find_contract(settings.contracts, "events"))
    assert run(["gold", "events"]) == 3
    assert "there is no table silver.events" in capsys.readouterr().err
    assert run(["gold", "events", "--if-there"]) == 0
    assert capsys.readouterr().out == "silver.events is not built yet\n"
    assert run(["silver", "events", "--if-there"]) == 0
    assert capsys.readouterr().out == "silver.events: nothing new in bronze; 0 rows\n"
    assert run(["reconcile", "events", "--if-there"]) == 0
    assert "✓ events: 0 records" in capsys.readouterr().out
