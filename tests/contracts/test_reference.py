"""docs/contracts.md names every key, type and rule, and its examples load."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import smelter.contracts
from smelter.contracts import parse_contract
from smelter.contracts.checks import CheckKind
from smelter.contracts.functions import FUNCTIONS
from smelter.contracts.types import SCALARS

REFERENCE = (Path(__file__).resolve().parents[2] / "docs" / "contracts.md").read_text("utf-8")
SCHEMA = json.loads((Path(smelter.contracts.__file__).parent / "contract.schema.json").read_text("utf-8"))


def test_every_key_and_rule_is_in_the_reference() -> None:
    keys = {key for part in (SCHEMA, *SCHEMA["$defs"].values()) for key in part["properties"]}
    assert len(keys) > 25
    assert {key for key in keys if not re.search(rf"[`.]{key}[`.:]", REFERENCE)} == set()


def test_every_type_is_in_the_reference() -> None:
    for name in (*SCALARS, "decimal(p,s)", "array<T>", "map<string,T>", "map<string,string>"):
        assert f"\n| `{name}` |" in REFERENCE


def test_every_example_of_a_contract_loads() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", REFERENCE, re.DOTALL)
    assert parse_contract(example, "events.yaml").label == "events@1"


def test_every_example_of_a_check_loads() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", REFERENCE, re.DOTALL)
    found = re.findall(r"\| `(\{name: .*\})` \|$", REFERENCE, re.MULTILINE)
    checks = "".join(f"- {text}\n" for text in found)
    loaded = parse_contract(re.sub(r"(?<=quality:\n)(- .*\n)+", lambda _: checks, example), "events.yaml")
    assert [check.check for check in loaded.quality] == list(get_args(CheckKind))


def test_every_example_of_a_derived_column_loads() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", REFERENCE, re.DOTALL)
    (columns,) = re.findall(r"^    columns:\n((?:      .*\n)+)", REFERENCE, re.MULTILINE)
    text = re.sub(r"(?<=columns:\n)(    .*\n)+", lambda _: columns, example)
    silver = parse_contract(text, "events.yaml").silver
    assert silver is not None
    assert list(silver.columns) == ["amount", "day", "big"]


def test_the_reference_lists_the_functions_that_may_be_called() -> None:
    (listed,) = re.findall(r"The functions that may be called:\n\n(.*?)\n\n", REFERENCE, re.DOTALL)
    assert re.findall(r"`(\w+)`", listed) == sorted(FUNCTIONS)
