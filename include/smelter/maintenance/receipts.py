"""Old records of batches are folded into `ops.ledger`, so that a stream that runs for years does not leave a file each.

Safe to kill between any two lines and to repeat, beside a running stream and beside readers: rows are added, then read
back, then the mark says so, and only then files go. A reader reads files first and rows after, so it misses none; what
is in both counts once.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex

import msgspec

from smelter.errors import Unreachable
from smelter.lake import layout
from smelter.lake.batches import BatchRecords, Done
from smelter.lake.fold_marks import FoldMark, read_mark, write_mark
from smelter.lake.folded import LETTERS, STREAM, Shelf
from smelter.lake.home import LEDGER, OPS, Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, lease

OLD = timedelta(days=1)
NEWEST_KEPT = 100  # files of a folder that stay, however old they are
FEWEST = 200  # files that are worth a commit
BATCHES_AT_ONCE = 5_000  # in one commit, unless they have more receipts than
RECEIPTS_AT_ONCE = 50_000

Reach = Callable[[str], None]


@dataclass(frozen=True)
class Due:
    """Records of batches that could be folded."""

    dataset: str
    batches: int
    bytes: int


@dataclass(frozen=True)
class Folded:
    """What was folded, and what its files took."""

    dataset: str
    batches: int = 0
    receipts: int = 0
    bytes: int = 0
    commits: int = 0

    def and_(self, other: Folded) -> Folded:
        """Both together."""
        names = ("batches", "receipts", "bytes", "commits")
        return Folded(self.dataset, *(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True)
class _Place:
    """One folder of records, and where its folded ones go."""

    records: BatchRecords
    shelf: Shelf

    def old(self, now: datetime) -> list[Path]:
        """Files that may go. Moments grow with numbers, so only a few are opened to find the first that is too new."""
        files = self.records.done_files()[:-NEWEST_KEPT]
        return files[: bisect_left(files, now - OLD, key=lambda path: self.records.read_done(path).ingested_at)]


def due(lake: Lake, dataset: str, now: datetime) -> Due | None:
    """What could be folded; nothing if it is too little to be worth it."""
    files = [path for place in _places(lake, dataset) for path in place.old(now)]
    return Due(dataset, len(files), _bytes(files)) if len(files) >= FEWEST else None


def fold(
    lake: Lake,
    dataset: str,
    now: datetime,
    reach: Reach = lambda _point: None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Folded:
    """Fold what is old enough, however little. One at a time per dataset: it holds a lease of its own, of no table."""
    done = Folded(dataset)
    with lease(lake, layout.RECEIPTS, dataset, "smelt maintain, folding receipts", wait_seconds):
        for place in _places(lake, dataset):
            files = place.old(now)
            if files:
                place.records.remove_overtaken()  # while the files are there that tell what is overtaken
                reach("leftovers_removed")
            for portion in _portions(place.records, files):
                done = done.and_(_fold(place, portion, reach))
    return done


def _places(lake: Lake, dataset: str) -> tuple[_Place, _Place]:
    return (
        _Place(lake.batches(dataset), Shelf(lake, dataset, STREAM)),
        _Place(lake.letter_batches(dataset), Shelf(lake, dataset, LETTERS)),
    )


def _portions(records: BatchRecords, files: Sequence[Path]) -> Iterator[dict[Path, Done]]:
    """As many as one commit may have; a batch is never split."""
    portion: dict[Path, Done] = {}
    receipts = 0
    for path in files:
        done = records.read_done(path)
        if portion and (len(portion) >= BATCHES_AT_ONCE or receipts + len(done.receipts) > RECEIPTS_AT_ONCE):
            yield portion
            portion, receipts = {}, 0
        portion[path] = done
        receipts += len(done.receipts)
    if portion:
        yield portion


def _fold(place: _Place, portion: dict[Path, Done], reach: Reach) -> Folded:
    mark = _begun(place.records.folder)
    reach("begun")
    batches = list(portion.values())
    missing = _missing(place.shelf, mark.book, batches)
    if missing:
        place.shelf.append(mark.book, missing)
        reach("appended")
        _require(place.shelf, mark.book, batches)
    os.sync()  # rows are on the disk before the files go that they stand for
    write_mark(place.records.folder, FoldMark(mark.book, max(mark.up_to, batches[-1].sequence)))
    reach("marked")
    size = _bytes(portion)
    for path in portion:
        path.unlink(missing_ok=True)
        reach("removing")
    reach("removed")
    receipts = sum(len(one.receipts) for one in batches)
    return Folded(place.shelf.dataset, len(portion), receipts, size, int(bool(missing)))


def _begun(folder: Path) -> FoldMark:
    """The folder's book; its name is written down before the first row that carries it."""
    mark = read_mark(folder)
    if mark is None:
        mark = FoldMark(token_hex(4), 0)
        write_mark(folder, mark)
    return mark


def _missing(shelf: Shelf, book: str, batches: Sequence[Done]) -> list[Done]:
    """Those that are not in the table, or not whole; the ones of a fold that was killed are."""
    there = shelf.read(book, batches[0].sequence, batches[-1].sequence)
    kept = {(one.sequence, one.token): _essence(one) for one in there}
    return [done for done in batches if kept.get((done.sequence, done.token)) != _essence(done)]


def _require(shelf: Shelf, book: str, batches: Sequence[Done]) -> None:
    """Every record comes back from the table as it was written, else no file goes."""
    lost = _missing(shelf, book, batches)
    if lost:
        raise Unreachable(
            f"{len(lost)} of {len(batches)} records of batches do not come back from {OPS}.{LEDGER} as they went in",
            where=f"{shelf.dataset}, batch {lost[0].sequence}",
            data="no record of a batch was removed",
            next_step="run it again",
        )


def _essence(done: Done) -> Done:
    """What a record tells, in whatever order; a driver that slept may have found other snapshots for the same."""
    receipts = sorted(done.receipts, key=lambda one: one.unit.source)
    return msgspec.structs.replace(done, receipts=receipts, snapshots={})


def _bytes(files: Sequence[Path] | dict[Path, Done]) -> int:
    return sum(path.stat().st_size for path in files if path.exists())
