"""Was a recovery of a stream begun that has not come to its end? Until it has, records may be in no table."""

from __future__ import annotations

from smelter.lake.batches import Done, Intent
from smelter.lake.home import Lake

RECOVER = "recover"  # where a batch of a whole recovery comes from


def origin_of(token: str) -> str:
    """Where a batch comes from: a checkpoint, or what a person asked for."""
    return token.split(":")[1]


def is_recovering_after(batch: Done | Intent, *, before: bool) -> bool:
    """Each of a recovery's batches begins it, or goes on with it; the one that settles accounts ends it."""
    return not batch.settles if origin_of(batch.token) == RECOVER else before


def is_recovering(lake: Lake, dataset: str) -> bool:
    """What the records of the stream's batches say, oldest first."""
    records, found = lake.batches(dataset), False
    batches: list[Done | Intent] = [*records.done(), *records.prepared()]
    for batch in batches:
        found = is_recovering_after(batch, before=found)
    return found
