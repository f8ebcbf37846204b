"""Metadata as DuckDB must be given it, so that it reads the snapshot that is current, and no other.

DuckDB 1.5.5 does not ask which snapshot is current: it takes the last one of the table's history that is not younger
than its transaction. Of a commit by a clock that is ahead it sees nothing for so long; and where no older snapshot is
kept, it takes the table for empty. So the current one is told to be a little older than it is.
"""

from __future__ import annotations

import re

import msgspec

_EARLIER_MS = 10_000  # before a question's transaction began, however slow the machine is
_CURRENT = re.compile(rb'"current-snapshot-id"\s*:\s*(-?\d+)')
_HISTORY = re.compile(rb'"snapshot-log"\s*:\s*(\[[^\]]*\])')  # as a key: inside a text the quotes have backslashes
_NO_SNAPSHOT = -1


class _Entry(msgspec.Struct):
    snapshot: int = msgspec.field(name="snapshot-id")
    made: int = msgspec.field(name="timestamp-ms")


_history_of = msgspec.json.Decoder(list[_Entry]).decode


def as_current(metadata: bytes, now_ms: int) -> bytes:
    """The metadata with its current snapshot last in its history, by the times too, and older than any question."""
    found = _CURRENT.search(metadata)
    if found is None or int(found[1]) == _NO_SNAPSHOT:
        return metadata
    kept = _HISTORY.search(metadata)
    history = _history_of(kept[1]) if kept else []
    mended = msgspec.json.encode(_in_order(history, int(found[1]), now_ms - _EARLIER_MS))
    if kept is not None:
        return metadata[: kept.start(1)] + mended + metadata[kept.end(1) :]
    return metadata[: found.start()] + b'"snapshot-log":' + mended + b"," + metadata[found.start() :]


def _in_order(history: list[_Entry], current: int, latest: int) -> list[_Entry]:
    """No entry is younger than the next, nor than the latest that may be."""
    if not history or history[-1].snapshot != current:
        history.append(_Entry(current, latest))
    for entry in reversed(history):
        entry.made = min(entry.made, latest)
        latest = entry.made - 1  # of two with one time DuckDB might take either
    return history
