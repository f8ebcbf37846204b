"""Which landing files would be read again, and what of them is in the tables already? Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np

from smelter.bronze.trust import Kept
from smelter.bronze.work import Present
from smelter.lake.batches import Unit
from smelter.lake.forgotten import forgotten
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.identities import arrivals_of, counts_by_source, letters_about_files, positions_of
from smelter.lake.landing import is_in_finished_place
from smelter.lake.resolutions import resolved
from smelter.lake.sources import arrival_of, source_of, unit_of
from smelter.records.survey import files_under

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Window:
    """Files that arrived from a moment on and before another; without one of them, from the first or to the last."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, modified_ns: int) -> bool:
        """Did a file that was last modified then arrive in the window?"""
        is_before = self.since is not None and modified_ns < _nanos(self.since)
        return not is_before and (self.until is None or modified_ns < _nanos(self.until))


def landed(kept: Kept, window: Window | None = None) -> Iterator[Unit]:
    """Every landing file, or those of a window, under the name of its last reading.

    The tables tell the readings, because records of batches may be lost, and so do the records of these tables, because
    a rollback may have taken all rows of a reading away. For a window the books are known to be whole.
    """
    landing = kept.lake.landing(kept.contract)
    known = {*kept.books.committed} if window is not None or _are_of_these_tables(kept) else set()
    known |= sources_in(kept).keys() if window is None else set()
    for path in files_under(landing):
        if path.is_file() and path.stat().st_size and is_in_finished_place(path, landing):
            reading = 1
            while source_of(path, reading + 1) in known:
                reading += 1
            unit = unit_of(path, reading)
            if window is None or window.holds(unit.modified_ns):
                yield unit


def _are_of_these_tables(kept: Kept) -> bool:
    uuids = {name: str(kept.table(name).metadata.table_uuid) for name in (BRONZE, DEAD_LETTERS)}
    return all(kept.books.tables.get(name) == uuid for name, uuid in uuids.items())


def sources_in(kept: Kept) -> dict[str, int]:
    """Every source that either table holds, with its records; and those whose records have all left for good."""
    counts = dict.fromkeys(forgotten(kept.lake, kept.dataset), 0)
    for namespace in (BRONZE, DEAD_LETTERS):
        for source, count in counts_by_source(kept.table(namespace)).items():
            counts[source] = counts.get(source, 0) + count
    return counts


def open_to_reading(kept: Kept, units: Sequence[Unit]) -> list[Unit]:
    """The units whose file is what the tables have of it; one that was written again since is for `--reread`."""
    sources = [unit.source for unit in units]
    closed = set()
    for name in (BRONZE, DEAD_LETTERS):
        arrivals = arrivals_of(kept.table(name), sources)
        closed |= {
            unit.source
            for unit in units
            if unit.source in arrivals and arrivals[unit.source] != arrival_of(unit.modified_ns)
        }
    return [unit for unit in units if unit.source not in closed]


def present_of(kept: Kept, units: Sequence[Unit]) -> dict[str, Present]:
    """What the tables have of each unit; a letter that went home has its place in bronze.

    A record that was forgotten counts among the letters: it is there, so that nobody writes it again.
    """
    sources = [unit.source for unit in units]
    held = {name: positions_of(kept.table(name), sources) for name in (BRONZE, DEAD_LETTERS)}
    closed, about = resolved(kept.lake, kept.dataset, sources), letters_about_files(kept.table(DEAD_LETTERS), sources)
    nothing, found = np.empty(0, np.int64), {}
    for source in sources:
        rows = held[BRONZE].get(source, nothing)
        letters = np.setdiff1d(closed.standing(source, held[DEAD_LETTERS].get(source, nothing)), rows)
        is_about = source in about and about[source][0] in letters
        found[source] = Present(rows, letters, about[source] if is_about else None)
    return found


def chunks(units: Iterator[Unit], size: int) -> Iterator[list[Unit]]:
    """So many units at a time."""
    while chunk := list(islice(units, size)):
        yield chunk


def _nanos(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND * 1000
