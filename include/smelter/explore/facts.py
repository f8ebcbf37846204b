"""What a table's metadata tells of it besides its rows, as views of DuckDB can ask for it."""

from __future__ import annotations

import json
from typing import Any

FACTS = "smelter:facts"  # a namespace that only the facade knows; in it a table's facts are under its full name
_KEPT = ("location", "current-snapshot-id", "current-schema-id", "default-spec-id", "format-version", "snapshots")


def facts_of(metadata: bytes) -> dict[str, Any]:
    """The metadata of a table without rows, with one property: the facts of another, as JSON."""
    told: dict[str, Any] = json.loads(metadata)
    facts = {name: told[name] for name in _KEPT if name in told}
    shape: dict[str, Any] = next(one for one in told["schemas"] if one["schema-id"] == told["current-schema-id"])
    facts["columns"] = len(shape["fields"])
    empty = {"current-snapshot-id": -1, "snapshots": [], "snapshot-log": [], "metadata-log": [], "refs": {}}
    return told | empty | {"properties": {"facts": json.dumps(facts)}}
