"""Is every record accounted for? Sources are counted a second time and compared with the tables, record by record."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from smelter.lake.batches import BatchRecords, Done, Receipt
from smelter.lake.checkpoint import Checkpoint
from smelter.lake.forgotten import IDENTITY_COLUMNS
from smelter.lake.home import BRONZE, DEAD_LETTERS, FORGOTTEN, OPS, RESOLUTIONS, Lake
from smelter.lake.identities import read_columns, split_files
from smelter.lake.landing import archived, is_in_finished_place, look_at
from smelter.lake.sources import path_of, source_of
from smelter.lake.tables import active_contract, find_table, load_table
from smelter.ledger.findings import Finding, Kind, Reconciliation
from smelter.ledger.limits import CountLimits
from smelter.ledger.recount import recount
from smelter.ledger.sheet import RESOLUTION_COLUMNS, Sheet


@dataclass(frozen=True)
class Account:
    """What one source must have in the tables, and how we know."""

    source: str
    records: int
    batch: str
    not_recounted: str = ""  # why its receipt must do
    other_content: bool = False


@dataclass(frozen=True)
class Entry:
    """The last receipt of a source, and the batch that took it."""

    receipt: Receipt
    batch: Done


@dataclass(frozen=True)
class _Books:
    """The receipts of a dataset: the last of each source, and the batches that are under way.

    `done` has every batch and run with those that it takes out of the tables: an undoing and what it undoes are under
    way together.
    """

    receipts: dict[str, list[Entry]]  # of each source, the newest last
    done: dict[str, list[str]]
    in_flight: dict[str, list[str]]

    @classmethod
    def read(cls, places: Sequence[BatchRecords]) -> _Books:
        """The stream's records and those of runs over dead letters, as one history."""
        # First those under way: a batch that goes on meanwhile is in both.
        in_flight = {intent.token: intent.removes for records in places for intent in records.prepared()}
        done = sorted((batch for records in places for batch in records.done()), key=lambda one: one.ingested_at)
        receipts: dict[str, list[Entry]] = {}
        for batch in done:
            for one in batch.receipts:
                receipts.setdefault(one.unit.source, []).append(Entry(one, batch))
        return cls(receipts, {batch.token: batch.removes for batch in done}, in_flight)

    def settled(self, in_flight: set[str]) -> list[Entry]:
        """The last receipt of each source that is not being taken back at this moment."""
        kept = ([one for one in entries if one.batch.token not in in_flight] for entries in self.receipts.values())
        return [entries[-1] for entries in kept if entries]

    def under_way_until(self, later: _Books) -> set[str]:
        """Batches and runs whose rows may or may not be in tables that were read between these two looks."""
        moving = {**self.in_flight, **later.in_flight, **later.done}
        return {name for token in moving.keys() - self.done.keys() for name in (token, *moving[token])}


def reconcile(lake: Lake, dataset: str) -> Reconciliation:
    """Compare sources and tables of one dataset; works beside a running stream, whose newest batch is left out."""
    records = lake.batches(dataset)
    places = (records, lake.letter_batches(dataset))
    contract = active_contract(load_table(lake, BRONZE, dataset))
    landing, archive = lake.landing(contract), lake.archive(dataset)
    handed_out = list(Checkpoint(lake.checkpoint(dataset)).handed_out())  # before the receipts that must explain them
    books = _Books.read(places)
    tables = {name: load_table(lake, name, dataset) for name in (BRONZE, DEAD_LETTERS)}
    resolutions = find_table(lake, DEAD_LETTERS, RESOLUTIONS)
    forgotten = find_table(lake, OPS, FORGOTTEN)  # after the tables: identities are noted before rows leave
    later = _Books.read(places)
    in_flight = books.under_way_until(later)
    accounts = [_account(entry, landing, archive) for entry in books.settled(in_flight)]
    problems: list[Finding] = [_other_content(one) for one in accounts if one.other_content]
    problems += _unread(handed_out, landing, books.receipts.keys() | later.receipts.keys(), records)
    with tempfile.TemporaryDirectory(prefix="smelter-") as scratch, closing(Sheet(Path(scratch))) as sheet:
        sheet.expect((one.source, one.records, one.batch) for one in accounts)
        for name, table in tables.items():
            there, lost = split_files(table)
            problems += [Finding(Kind.LOST_FILE, one.path, None, "", f"{name}: {one.records} records") for one in lost]
            sheet.hold(name, read_columns(table, there, "_source", "_position", "_batch"), in_flight)
        if resolutions is not None:
            there, lost = split_files(resolutions)
            problems += [Finding(Kind.LOST_FILE, one.path, None, "", f"{one.records} resolutions") for one in lost]
            sheet.resolve(DEAD_LETTERS, read_columns(resolutions, there, *RESOLUTION_COLUMNS), dataset, in_flight)
        if forgotten is not None:
            there, lost = split_files(forgotten)
            problems += [
                Finding(Kind.LOST_FILE, one.path, None, "", f"{one.records} runs of identities") for one in lost
            ]
            sheet.forget(FORGOTTEN, read_columns(forgotten, there, *IDENTITY_COLUMNS), dataset)
        problems += sheet.findings()
        held = {name: sheet.held_in(name) for name in (*tables, FORGOTTEN)}
        closed = sheet.closed()
    seen = look_at(landing, {source: entries[-1].receipt.unit for source, entries in later.receipts.items()})
    went_home, discarded = closed
    reasons = Counter(one.not_recounted for one in accounts if one.not_recounted)
    return Reconciliation(
        dataset=dataset,
        sources=len(accounts),
        recounted=len(accounts) - sum(reasons.values()),
        records=sum(one.records for one in accounts),
        bronze=held[BRONZE],
        dead_letters=held[DEAD_LETTERS],
        went_home=went_home,
        discarded=discarded,
        forgotten=held[FORGOTTEN],
        problems=tuple(problems),
        by_receipt=dict(sorted(reasons.items())),
        prepared=len(later.in_flight),
        **{
            name: tuple(source_of(path) for path in getattr(seen, name))
            for name in ("waiting", "empty", "rewritten", "unfinished", "unnameable", "linked")
        },
    )


def _account(entry: Entry, landing: Path, archive: Path) -> Account:
    """Count the source again if it is still what was read; its receipt must do otherwise."""
    receipt, unit, batch = entry.receipt, entry.receipt.unit, entry.batch.token
    for path in (path_of(unit.source), *archived(receipt, landing, archive)):
        try:
            stat = path.stat()
            if (stat.st_size, stat.st_mtime_ns) != (unit.length, unit.modified_ns):
                continue
            if not receipt.digest:
                break
            found = recount(path, CountLimits(**entry.batch.limits))
        except OSError:
            continue
        return Account(unit.source, found.records, batch, other_content=found.digest != receipt.digest)
    why = "the source has changed since" if path_of(unit.source).exists() else "the source is gone"
    return Account(unit.source, receipt.records, batch, why)


def _other_content(account: Account) -> Finding:
    note = "same size and time as when it was read, but other bytes"
    return Finding(Kind.OTHER_CONTENT, account.source, None, account.batch, note)


def _unread(handed_out: list[Path], landing: Path, receipts: Set[str], records: BatchRecords) -> Iterator[Finding]:
    """Files that Spark holds for finished and that nobody has a receipt for."""
    prepared = {one.unit.source for intent in records.prepared() for one in intent.receipts}
    for path in handed_out:
        source = source_of(path)
        if source not in receipts and source not in prepared and is_in_finished_place(path, landing):
            yield Finding(Kind.UNREAD, source, None, "", "Spark's checkpoint has it, and no batch does")
