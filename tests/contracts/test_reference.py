"""docs/contracts.md names every key, type and rule, and its examples load."""

from __future__ import annotations

import json
import re
from pathlib import Path

import smelter.contracts
from smelter.contracts import parse_contract
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
