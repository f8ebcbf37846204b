"""What a reconciliation finds: what is wrong, by name, and what is only worth knowing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What can be wrong with a record, or with a file that should hold some."""

    MISSING = "missing"  # a source holds it, no table does
    DOUBLED = "doubled"  # it is in more than one place
    UNEXPLAINED = "unexplained"  # a table holds it, no source or receipt does
    UNREAD = "unread"  # Spark holds the file for finished, and there is no receipt for it
    LOST_FILE = "lost_file"  # a data file of a table is gone
    OTHER_CONTENT = "other_content"  # a source has the same size and time, and other bytes


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: with which record of which source, from which batch."""

    kind: Kind
    source: str
    position: int | None = None
    batch: str = ""
    note: str = ""


@dataclass(frozen=True)
class Reconciliation:
    """The account of one dataset: what its sources hold against what its tables hold."""

    dataset: str
    sources: int = 0
    recounted: int = 0  # sources that were counted again; the others are known by their receipts only
    records: int = 0
    bronze: int = 0
    dead_letters: int = 0  # whose place is there: open, or discarded
    went_home: int = 0  # records of bronze that were dead letters
    discarded: int = 0
    forgotten: int = 0  # that left for good, and whose place is ops.forgotten
    problems: tuple[Finding, ...] = ()
    by_receipt: dict[str, int] = field(default_factory=dict)  # why sources could not be counted again
    prepared: int = 0  # batches whose commits the next start will finish
    waiting: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    unnameable: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()

    @property
    def is_balanced(self) -> bool:
        """Is every record in exactly one place?"""
        return not self.problems
