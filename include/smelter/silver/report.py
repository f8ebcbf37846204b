"""What a run of silver did, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

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
    failed_casts: dict[str, int]
    spans: Spans | None  # the days whose files were looked at; nothing if all of them were
    verdict: Verdict


@dataclass(frozen=True)
class SilverReport:
    """Everything that one run did."""

    dataset: str
    contract: str
    taken: tuple[Taken, ...] = ()
    began_anew: str = ""
    columns_changed: bool = False
    is_rebuild: bool = False
    rows: int = 0  # of silver, afterwards
    published_anyway: str = ""
    failed_casts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, before: SilverReport, taken: Sequence[Taken], rows: int) -> SilverReport:
        """The report of a run that took these slices."""
        casts: Counter[str] = Counter()
        for one in taken:
            casts.update(one.failed_casts)
        return cls(
            before.dataset,
            before.contract,
            tuple(taken),
            before.began_anew,
            before.columns_changed,
            before.is_rebuild,
            rows,
            before.published_anyway,
            dict(casts),
        )

    def total(self, name: str) -> int:
        """The sum of a number over all slices."""
        return sum(getattr(one, name) for one in self.taken)
