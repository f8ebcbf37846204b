"""How many records does a file hold? Counted a second time, by code that the judge does not use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from smelter.ledger.cutting import Cutting
from smelter.ledger.expansion import StoredFile, text_of
from smelter.ledger.limits import CountLimits
from smelter.ledger.runs import Records
from smelter.ledger.window import KEPT_BYTES

__all__ = ["CountLimits", "Recount", "record_at", "recount"]


@dataclass(frozen=True)
class Recount:
    """What a file holds: all its positions, letters about the file itself included, and its bytes as stored."""

    records: int
    bytes: int
    digest: str


def recount(path: Path, limits: CountLimits) -> Recount:
    """Count a file from its beginning to its end; raises OSError if it cannot be opened."""
    with path.open("rb", buffering=0) as stream:
        stored = StoredFile(stream)
        records = sum(len(run.places) for run in _records_of(stored, limits))
    return Recount(records, stored.bytes_read, stored.digest)


def record_at(path: Path, position: int, limits: CountLimits) -> bytes | None:
    """The text of one record, 64 KiB of it at most; none, if there is no such position."""
    left = position
    with path.open("rb", buffering=0) as stream:
        for run in _records_of(StoredFile(stream), limits):
            if 0 <= left < len(run.places):
                start, end = run.places[left]
                return run.piece[start:end][:KEPT_BYTES]
            left -= len(run.places)
    return None


def _records_of(stored: StoredFile, limits: CountLimits) -> Iterator[Records]:
    return iter(Cutting(text_of(stored, limits), limits))
