"""What would a recovery write? The same reading and judging, beside a running stream, and nothing is written.

Needs no lock: records of finished batches are read before the tables, so that what they tell of is in the tables, and a
record of a file that no finished batch has is waiting, not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.table import Table

from smelter.bronze.batch import raise_trouble
from smelter.bronze.books import Books
from smelter.bronze.landed import Window, chunks, landed, open_to_reading, present_of
from smelter.bronze.trust import refuse_a_part
from smelter.bronze.work import Work, do
from smelter.lake.batches import Unit
from smelter.lake.data_files import TableShape
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.tables import ACTIVE, active_contract, load_table
from smelter.records import Limits
from smelter.supervise.lock import holder

FILES_AT_ONCE = 200


@dataclass(frozen=True)
class Rehearsed:
    """What a recovery would read, and what it would write."""

    files: int = 0
    records: int = 0
    rows: int = 0  # records in no table that would be in bronze
    letters: int = 0  # records in no table that would be dead letters
    waiting: int = 0  # those of both in files that the stream has not taken yet, and would take by itself
    left: int = 0  # files that were written again since, and would be left as the tables have them

    def and_(self, other: Rehearsed) -> Rehearsed:
        """Both together."""
        return Rehearsed(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


class _Beside:
    """The books and tables of a stream, for one who only looks."""

    def __init__(self, lake: Lake, dataset: str) -> None:
        self.lake, self.dataset = lake, dataset
        self.records = lake.batches(dataset)
        self.books = Books(self.records, lake.letter_batches(dataset))
        self.contract = active_contract(self.table(BRONZE))
        under_way = {receipt.unit.source for intent in self.books.waiting for receipt in intent.receipts}
        self.taken = self.books.committed.keys() - under_way

    def table(self, namespace: str) -> Table:
        """The dataset's table, as it is now."""
        return load_table(self.lake, namespace, self.dataset)


def rehearse(lake: Lake, dataset: str, limits: Limits, window: Window | None = None) -> Rehearsed:
    """Read and judge what a recovery would, in this process; a window is refused where its recovery would be.

    A living driver has looked at the books when it began, and they change under our eyes, so that they are not judged.
    """
    beside = _Beside(lake, dataset)
    if window is not None and holder(lake.run_folder(dataset)) is None:
        refuse_a_part(beside)
    found = Rehearsed()
    for units in chunks(landed(beside, window), FILES_AT_ONCE):
        found = found.and_(_rehearse(beside, limits, units))
    return found


def _rehearse(beside: _Beside, limits: Limits, units: Sequence[Unit]) -> Rehearsed:
    fresh = open_to_reading(beside, units)
    bronze, letters, present = beside.table(BRONZE), beside.table(DEAD_LETTERS), present_of(beside, fresh)
    outcome = do(
        Work(
            token="",
            ingested_at=datetime.now(UTC),
            contract=bronze.properties[ACTIVE],
            limits=limits,
            units=tuple(fresh),
            bronze=TableShape.of(bronze),
            letters=TableShape.of(letters),
            present=present,
            is_rehearsal=True,
        )
    )
    raise_trouble([outcome])
    found = Rehearsed(left=len(units) - len(fresh))
    for one in outcome.receipts:
        held = present[one.unit.source]
        rows, dead = one.accepted - len(held.bronze), one.dead - len(held.letters)
        waiting = 0 if one.unit.source in beside.taken else rows + dead
        found = found.and_(Rehearsed(1, one.records, rows, dead, waiting))
    return found
