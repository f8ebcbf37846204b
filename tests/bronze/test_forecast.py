"""What a changed contract would say to what is here, counted by plain Python beside it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streams import Stream

from smelter.bronze.forecast import Breach, forecast_rows
from smelter.contracts import Contract, parse_contract
from smelter.lake.home import Lake
from smelter.settings import Settings

ARRIVED = 1_700_000_000
FIELDS = {
    "number": "int",
    "real": "double",
    "exact": "decimal(6,2)",
    "text": "string",
    "day": "date",
    "moment": "timestamp",
    "data": "binary",
    "many": "array<int>",
    "pairs": "map<string,string>",
}
MOMENT = datetime.fromtimestamp(ARRIVED, UTC)
ROWS: list[dict[str, Any]] = [
    {},
    {"number": 1, "real": 0.5, "exact": 1.25, "text": "", "day": "2020-01-01", "moment": "2020-01-01T00:00:00Z"},
    {"number": 5, "real": 5.5, "exact": 5.5, "text": "abc", "day": "2023-11-14", "moment": "2023-11-14T23:00:00Z"},
    {"number": 9, "real": 9.5, "exact": 9.75, "text": "abcdef", "day": "2023-11-16", "moment": "2023-11-15T02:00:00Z"},
    {"data": "AAAA", "many": [], "pairs": {}},
    {"data": "", "many": [1, 2, 3], "pairs": {"a": 1}},
]
STRICTER = [
    ("number", "min: 5", [1]),
    ("number", "max: 5", [9]),
    ("number", "one_of: [1, 9]", [5]),
    ("real", "min: 5.5", [0.5]),
    ("exact", "max: 5.5", ["9.75"]),
    ("text", "pattern: 'a.*'", [""]),
    ("text", "min_length: 3", [""]),
    ("text", "max_length: 3", ["abcdef"]),
    ("text", "one_of: [abc]", ["", "abcdef"]),
    ("day", "min: 2023-01-01", ["2020"]),
    ("day", "not_after_arrival: 1h", ["2023-11-16"]),
    ("moment", "max: 2023-11-15T00:00:00Z", ["02:00"]),
    ("moment", "not_after_arrival: 1h", ["23:00 is within", "02:00 is not"][1:]),
    ("data", "min_length: 1", [""]),
    ("many", "max_length: 2", [[1, 2, 3]]),
    ("pairs", "min_length: 1", [{}]),
]


def contract(version: int, rules: dict[str, str], more: str = "") -> Contract:
    lines = "".join(f'  {name}: {{type: "{kind}"{rules.get(name, "")}}}\n' for name, kind in FIELDS.items())
    text = f"dataset: things\nversion: {version}\nfields:\n{lines}{more}source: {{files: landing/things}}\n"
    return parse_contract(text, "things.yaml")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stream:
    """Rows that arrived at a known moment: 2023-11-14, 22:13:20 UTC."""
    stream = Stream(Lake.at(Settings(lake=tmp_path_factory.mktemp("forecast") / "lake")), contract(1, {}))
    stream.add("rows.json", "\n".join(json.dumps(row) for row in ROWS).encode() + b"\n", modified=ARRIVED)
    stream.drain_here()
    return stream


@pytest.mark.parametrize(("field", "rule", "broken"), STRICTER, ids=[f"{name} {rule}" for name, rule, _ in STRICTER])
def test_rows_that_break_a_stricter_rule_are_counted(stored: Stream, field: str, rule: str, broken: list[Any]) -> None:
    after = contract(2, {field: f", {rule}"})
    assert forecast_rows(stored.lake, stored.contract, after) == [Breach(field, rule.partition(":")[0], len(broken))]


def test_a_looser_rule_asks_no_row(stored: Stream) -> None:
    assert forecast_rows(stored.lake, contract(1, {"number": ", min: 5"}), contract(2, {"number": ", min: 4"})) == []


def test_a_contract_is_written_down_as_one_that_means_the_same() -> None:
    from smelter.contracts import load_contract
    from smelter.contracts.write import contract_text

    shipped = [load_contract(path) for path in sorted(Path("include/contracts").glob("*.yaml"))]
    rules = {field: f", {rule}" for field, rule, _ in STRICTER}
    for one in [*shipped, contract(3, rules)]:
        assert parse_contract(contract_text(one), f"{one.dataset}.yaml") == one
