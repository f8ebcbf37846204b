"""What a run of silver did, for people and programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from smelter.lake.spans import Spans
from smelter.quality.verdict import Verdict


@dataclass(frozen=True)
class Taken:
    """One slice of bronze that is in silver now."""

    number: int
    of: int
    read: int  # rows of bronze
    things: int  # one row per key among them
    added: int  # keys that silver did not have
    seconds: float
    failed_casts: dict[str, int]  # derived column to values that it could not read
    spans: Spans | None  # the days whose files were looked at; nothing if all of them were
    verdict: Verdict
    reason: str = ""  # why it was published although a check said stop
    removed: int = 0  # keys whose last record left bronze


@dataclass(frozen=True)
class SilverReport:
    """Everything that one run did."""

    dataset: str
    contract: str
    is_rebuild: bool = False
    began_anew: str = ""  # why all of bronze was read again
    columns_changed: bool = False
    taken: tuple[Taken, ...] = ()
    rows: int = 0  # of silver, afterwards

    def total(self, name: str) -> int:
        """The sum of a number over all slices."""
        return sum(getattr(one, name) for one in self.taken)

    @property
    def failed_casts(self) -> dict[str, int]:
        """Derived column to values that it could not read, over all slices."""
        casts: Counter[str] = Counter()
        for one in self.taken:
            casts.update(one.failed_casts)
        return dict(casts)

    @property
    def published_anyway(self) -> str:
        """The reason, if a check said stop and somebody took it upon themselves."""
        return next((one.reason for one in self.taken if one.reason), "")
