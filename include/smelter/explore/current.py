"""Metadata as DuckDB must be given it, so that it reads the snapshot that is current, and no other.

DuckDB 1.5.5 does not ask which snapshot is current: it takes the last one of the table's history that is not younger
than its transaction. Of a commit by a clock that is ahead it sees nothing for so long; and where no older snapshot is
kept, it takes the table for empty. So the current one is told to be a little older than it is.
"""

from __future__ import annotations

import re

import msgspec

_EARLIER_MS = 10_000  # before a question's transaction began, however slow the machine is
_UPDATED = re.compile(rb'"last-updated-ms"\s*:\s*(\d+)')
_HISTORY = re.compile(rb'"snapshot-log"\s*:\s*\[\s*\{')


def as_current(metadata: bytes, now_ms: int) -> bytes:
    """The metadata with its current snapshot last in its history, and older than any question of now."""
    updated = _UPDATED.search(metadata)
    is_settled = updated is not None and int(updated[1]) <= now_ms - _EARLIER_MS
    if is_settled and _HISTORY.search(metadata):
        return metadata
    facts = msgspec.json.decode(metadata)
    current = facts.get("current-snapshot-id")
    if current is None or current == -1:
        return metadata
    made = {one["snapshot-id"]: one["timestamp-ms"] for one in facts["snapshots"]}
    history = list(facts.get("snapshot-log") or [])
    if not history or history[-1]["snapshot-id"] != current:
        history.append({"snapshot-id": current, "timestamp-ms": made[current]})
    latest = now_ms - _EARLIER_MS
    for entry in reversed(history):  # in its order still, which DuckDB finds by the times
        entry["timestamp-ms"] = min(entry["timestamp-ms"], latest)
        latest = entry["timestamp-ms"] - 1
    facts["snapshot-log"] = history
    return msgspec.json.encode(facts)
