"""What a table's metadata tells of it besides its rows, as views of DuckDB can ask for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

FACTS = "smelter:facts"  # a namespace that only the facade knows; in it a table's facts are under its full name
_POINTERS = ("current-snapshot-id", "current-schema-id", "default-spec-id")
_KEPT = ("table-uuid", "location", "format-version", *_POINTERS, "snapshots")


def facts_of(metadata: bytes) -> dict[str, Any]:
    """The metadata of a table without rows, with one property: the facts of another, as JSON."""
    told: dict[str, Any] = json.loads(metadata)
    facts = {name: told[name] for name in _KEPT if name in told}
    shape: dict[str, Any] = next(one for one in told["schemas"] if one["schema-id"] == told["current-schema-id"])
    facts |= {"columns": len(shape["fields"]), "ancestors": list(_ancestors(told))}
    empty = {"current-snapshot-id": -1, "snapshots": [], "snapshot-log": [], "metadata-log": [], "refs": {}}
    return told | empty | {"properties": {"facts": json.dumps(facts)}}


def _ancestors(told: Mapping[str, Any]) -> Iterator[int]:
    """The current snapshot and those that led to it, newest first, as far as they are still known."""
    parents: dict[int, Any] = {one["snapshot-id"]: one.get("parent-snapshot-id") for one in told.get("snapshots", [])}
    at: Any = told.get("current-snapshot-id")
    while at in parents:
        yield at
        at = parents.pop(at)  # each once, even if somebody wrote a circle
