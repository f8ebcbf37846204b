"""Where is one record, and how did it get there? File, batch, snapshot, contract, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from smelter.lake.batches import Done, Intent, Receipt
from smelter.lake.commits import ancestors, told
from smelter.lake.forgotten import Departure, Why, departure_of
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.identities import rows_of
from smelter.lake.landing import archived
from smelter.lake.sources import path_of, source_of
from smelter.lake.tables import active_contract, find_table, load_table
from smelter.ledger.limits import CountLimits
from smelter.ledger.recount import record_at


@dataclass(frozen=True)
class Place:
    """One row of the record in one table."""

    table: str
    batch: str
    contract: str
    ingested_at: datetime
    snapshot: int | None  # None where the snapshot that added it has been expired
    row: dict[str, Any]


@dataclass(frozen=True)
class Event:
    """What one run over dead letters did to the record."""

    at: datetime
    run: str
    outcome: str
    contract: str
    who: str
    because: str | None


@dataclass(frozen=True)
class Trace:
    """One record's way: its source, the batch that took the source, and every place where it is."""

    dataset: str
    source: str
    position: int
    found: str  # accepted, dead letter, … in one sentence
    places: tuple[Place, ...] = ()
    batch: str = ""
    batch_state: str = ""
    arrived_at: datetime | None = None
    records_in_source: int | None = None
    text: str | None = None
    history: tuple[Event, ...] = ()  # what runs over dead letters did to it, the oldest first
    left: Departure | None = None  # when it left for good, if it did


def datasets_of(lake: Lake, names: list[str], path: Path) -> list[str]:
    """The datasets whose landing folder a path is in; all of them where it is in none."""
    folders = {name: lake.landing(active_contract(load_table(lake, BRONZE, name))) for name in names}
    return [name for name, folder in folders.items() if path.is_relative_to(folder)] or names


def readings_of(lake: Lake, dataset: str, path: Path) -> list[str]:
    """The names under which a file was taken in: itself, and `#2`, `#3` … if it was read again."""
    first = source_of(path)
    known = {receipt.unit.source for batch in lake.batches(dataset).done() for receipt in batch.receipts}
    return [first, *sorted((source for source in known if source.startswith(f"{first}#")), key=_reading)]


def trace(lake: Lake, dataset: str, source: str, position: int) -> Trace:
    """Look for one record in both tables, in the records of batches, and in its source."""
    places, history = tuple(_places(lake, dataset, source, position)), _history(lake, dataset, source, position)
    entry, left = _entry(lake, dataset, source), departure_of(lake, dataset, source, position)
    if left is not None and not places:
        return _gone(Trace(dataset, source, position, _farewell(left), left=left), entry)
    if entry is None:
        waits = path_of(source).exists()
        if waits and not places:
            return Trace(dataset, source, position, "not read yet: its file waits in the landing folder")
        return Trace(dataset, source, position, _verdict(places, None, history), places, history=history)
    batch, receipt, state = entry
    return Trace(
        dataset,
        source,
        position,
        found=_verdict(places, receipt, history, position),
        history=history,
        places=places,
        batch=batch.token,
        batch_state=state,
        arrived_at=next((place.row["_arrived_at"] for place in places), None),
        records_in_source=receipt.records,
        text=_text(lake, dataset, receipt, position, CountLimits(**batch.limits)),
    )


def _places(lake: Lake, dataset: str, source: str, position: int) -> Iterator[Place]:
    for name in (BRONZE, DEAD_LETTERS):
        table = load_table(lake, name, dataset)
        for row in rows_of(table, source, position):
            snapshot = next(
                (one for one in ancestors(table.metadata) if told(one, "smelter.token") == row["_batch"]), None
            )
            yield Place(
                f"{name}.{dataset}",
                row["_batch"],
                row["_contract"],
                row["_ingested_at"],
                snapshot.snapshot_id if snapshot is not None else None,
                row,
            )


def _entry(lake: Lake, dataset: str, source: str) -> tuple[Done | Intent, Receipt, str] | None:
    """The last batch that took the source, or the run over dead letters that read it again."""
    batches: list[tuple[Done | Intent, str]] = []
    places = ((lake.batches(dataset), "start of the stream"), (lake.letter_batches(dataset), "smelt dlq"))
    for records, who in places:
        batches += [(one, f"prepared; the next {who} commits it") for one in records.prepared()]
        batches += [(one, "done") for one in records.done()]
    for batch, state in sorted(batches, key=lambda one: one[0].ingested_at, reverse=True):
        for receipt in batch.receipts:
            if receipt.unit.source == source:
                return batch, receipt, state
    return None


def _gone(found: Trace, entry: tuple[Done | Intent, Receipt, str] | None) -> Trace:
    """A record that left for good: the batch that took its source, and not its text, though a file may hold it."""
    if entry is None:
        return found
    batch, receipt, state = entry
    return replace(found, batch=batch.token, batch_state=state, records_in_source=receipt.records)


def _farewell(left: Departure) -> str:
    at = f"{left.at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    if left.why == Why.RETENTION:
        return f"its time was up: keep_rows, on {at}, by {left.run}"
    return f"forgotten on {at}, by {left.run}"


def _verdict(places: tuple[Place, ...], receipt: Receipt | None, history: Sequence[Event], position: int = 0) -> str:
    last = history[-1].outcome if history else ""
    standing = [one for one in places if one.table.startswith(f"{BRONZE}.") or last not in ("replayed", "edited")]
    if len(standing) > 1:
        return f"in {len(places)} places, which must not be: smelt reconcile"
    if standing:
        return _word_for(standing[0], last)
    if last == "discarded":
        return "a dead letter that was discarded, and removed when its time was up"
    if receipt is None:
        return "nowhere: no batch took this source"
    if position >= receipt.records:
        return f"nowhere: the source holds {receipt.records} records, numbered from 0"
    return "in no table, which must not be: smelt reconcile"


def _word_for(place: Place, last: str) -> str:
    if place.table.startswith(f"{BRONZE}."):
        return f"accepted, after it was a dead letter: {last}" if last else "accepted"
    return f"a dead letter: {place.row['reason']}{', discarded' if last == 'discarded' else ''}"


def _history(lake: Lake, dataset: str, source: str, position: int) -> tuple[Event, ...]:
    """What became of the record after it was a dead letter, oldest first."""
    table = find_table(lake, DEAD_LETTERS, RESOLUTIONS)
    rows = rows_of(table, source, position) if table is not None else []
    events = (
        Event(one["resolved_at"], one["run"], one["outcome"], one["contract"], one["who"], one["because"])
        for one in rows
        if one["dataset"] == dataset
    )
    return tuple(sorted(events, key=lambda one: one.at))


def _text(lake: Lake, dataset: str, receipt: Receipt, position: int, limits: CountLimits) -> str | None:
    """The record as its source has it, if the source is still what was read."""
    unit = receipt.unit
    folder = lake.landing(active_contract(load_table(lake, BRONZE, dataset)))
    for path in (path_of(unit.source), *archived(receipt, folder, lake.archive(dataset))):
        try:
            stat = path.stat()
            if (stat.st_size, stat.st_mtime_ns) == (unit.length, unit.modified_ns):
                text = record_at(path, position, limits)
                return None if text is None else text.decode("utf-8", "backslashreplace")
        except OSError:
            continue
    return None


def _reading(source: str) -> int:
    return int(source.rpartition("#")[2])
