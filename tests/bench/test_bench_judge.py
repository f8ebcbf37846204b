"""`smelt bench judge` in its shortest form: it runs, measures everybody, and its ratios follow from its numbers."""

from __future__ import annotations

import json

import pytest

from smelter.bench import judge as bench
from smelter.cli.main import run


def test_every_contender_is_measured_and_ratios_follow_from_the_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "LARGE_BYTES", 5_000_000)
    monkeypatch.setattr(bench, "ROUNDS", 1)
    assert run(["bench", "judge", "--events", "10000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cost = {(row["files"], row["contender"]): row["microseconds_per_record"] for row in found["rows"]}
    records = {(row["files"], row["contender"]): row["records"] for row in found["rows"]}
    for files in ("ndjson", "arrays"):
        for contender in ("judge", "duckdb", "json_loads"):
            assert records[files, contender] == 10_000
    assert records["many", "judge"] == 10_000
    assert records["bad", "judge"] >= 1_900
    assert records["large", "judge"] > 10_000
    assert all(row["cpu_seconds"] > 0 and row["peak_mb"] > 10 for row in found["rows"])
    ratio = cost["ndjson", "judge"] / cost["ndjson", "duckdb"]
    assert found["ratios"]["ndjson: judge / duckdb"] == pytest.approx(ratio, abs=0.01)
