"""The JSON Schema of contracts, for editors."""

from __future__ import annotations

import json

from smelter.contracts.model import Contract


def contract_schema() -> str:
    """The schema as the text of `contract.schema.json`."""
    schema = Contract.model_json_schema(by_alias=True)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Smelter contract",
        "description": "What is this data? One file per dataset.",
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
