"""What silver is made by: its key, order, time and derived columns. When these change, it must be built anew.

Columns are remembered by the ids that they have in bronze, so that a rename is no change, and a column that was dropped
and came back is another one.
"""

from __future__ import annotations

import json
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField, TimestamptzType

from smelter.contracts import Contract
from smelter.contracts.expressions import columns_of, renamed
from smelter.contracts.model import Silver
from smelter.lake.schema import bronze_schema
from smelter.lake.spark_types import as_optional
from smelter.lake.tables import file_properties
from smelter.silver.rows import MERGED_AT, MERGED_AT_ABOUT

DEFINITION = "smelter.silver"
COLUMNS = "smelter.bronze-columns"
_WORDS = {
    "key": "its key",
    "on_duplicate": "which duplicate stays",
    "order_by": "what says which is later",
    "event_time": "its event time",
    "columns": "its derived columns",
}


def silver_of(contract: Contract) -> Silver:
    """The contract's silver, which the caller has looked for."""
    assert contract.silver is not None
    return contract.silver


def partitions_of(contract: Contract) -> tuple[str, ...]:
    """By the day of the event, or of its ingestion where events have no time."""
    return (f"days({silver_of(contract).event_time or '_ingested_at'})",)


def properties_of(contract: Contract, bronze: Table) -> dict[str, str]:
    """What the table remembers of how it was made."""
    ids = _ids(contract, bronze)
    return {
        DEFINITION: json.dumps(_definition(contract, ids), sort_keys=True),
        COLUMNS: json.dumps(ids, sort_keys=True),
        **file_properties(contract),
    }


def what_changed(table: Table, contract: Contract, bronze: Table) -> list[str]:
    """What is no longer as the rows were made by; nothing if silver can go on from where it is."""
    before = json.loads(table.properties.get(DEFINITION, "{}"))
    after = _definition(contract, _ids(contract, bronze))
    return [words for name, words in _WORDS.items() if before.get(name) != after[name]]


def wanted_schema(table: Table, contract: Contract) -> Schema:
    """The columns that the table should have now; derived ones have not changed, or it would have to be rebuilt."""
    derived = [table.schema().find_field(name) for name in silver_of(contract).columns]
    bronze = as_optional(bronze_schema(contract))
    fields = [*bronze.fields[: len(contract.fields)], *derived, *bronze.fields[len(contract.fields) :], _merged_at()]
    return Schema(*fields)


def origins(table: Table, contract: Contract, bronze: Table) -> dict[str, str | None]:
    """For each field of the contract the column of silver that has its values; nothing if it is new."""
    by_id = {number: name for name, number in json.loads(table.properties.get(COLUMNS, "{}")).items()}
    return {name: by_id.get(number) for name, number in _ids(contract, bronze).items()}


def _merged_at() -> NestedField:
    return NestedField(0, MERGED_AT, TimestamptzType(), required=False, doc=MERGED_AT_ABOUT)


def _ids(contract: Contract, bronze: Table) -> dict[str, int]:
    schema = bronze.schema()
    return {name: schema.find_field(name).field_id for name in contract.fields}


def _definition(contract: Contract, ids: dict[str, int]) -> dict[str, Any]:
    silver, names = silver_of(contract), {name: f"column_{number}" for name, number in ids.items()}
    return {
        "key": sorted(names[name] for name in silver.key),
        "on_duplicate": silver.on_duplicate,
        "order_by": names.get(silver.order_by or ""),
        "event_time": names.get(silver.event_time or ""),
        "columns": {name: [renamed(text, names), _types(text, contract)] for name, text in silver.columns.items()},
    }


def _types(text: str, contract: Contract) -> list[str]:
    """Of the fields that an expression reads: when one becomes wider, so may the column."""
    return sorted(contract.fields[name].type for name in columns_of(text) if name in contract.fields)
