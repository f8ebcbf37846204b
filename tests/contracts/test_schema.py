"""The JSON Schema that editors use says what the model says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from contract_texts import MINIMAL, SHIPPED, with_field
from test_keys import EVERY_KEY

import smelter.contracts
from smelter.cli.main import run
from smelter.contracts.places import read_placed

SCHEMA_FILE = Path(smelter.contracts.__file__).parent / "contract.schema.json"


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema: dict[str, Any] = json.loads(SCHEMA_FILE.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_shipped_schema_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", "schema"]) == 0
    assert capsys.readouterr().out == SCHEMA_FILE.read_text("utf-8"), (
        f"the model has changed; run: smelt contract schema > {SCHEMA_FILE}"
    )


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_contract_is_valid_and_points_to_the_schema(validator, path: Path) -> None:
    text = path.read_text("utf-8")
    validator.validate(read_placed(text).value)
    pointer = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / pointer).resolve() == SCHEMA_FILE


def test_a_contract_with_every_key_is_valid(validator) -> None:
    validator.validate(read_placed(EVERY_KEY).value)


@pytest.mark.parametrize(
    "text",
    [
        MINIMAL + "abuot: x\n",
        MINIMAL + "silver: {kez: [a]}\n",
        MINIMAL + "silver: {key: []}\n",
        MINIMAL + "unknown_fields: drop\n",
        MINIMAL.replace("version: 1", "version: 0"),
        MINIMAL.replace("dataset: things", "dataset: Things"),
        MINIMAL.replace("dataset: things", ""),
        with_field("type: int, requird: true"),
        with_field("required: true"),
        with_field("type: int, required: yes"),
    ],
)
def test_a_wrong_contract_is_not_valid(validator, text: str) -> None:
    assert not validator.is_valid(read_placed(text).value)


def test_every_key_of_the_schema_is_explained() -> None:
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    for name, part in {"Contract": schema, **schema["$defs"]}.items():
        for key, value in part["properties"].items():
            assert "description" in value or "$ref" in json.dumps(value), f"{name}.{key} has no description"
