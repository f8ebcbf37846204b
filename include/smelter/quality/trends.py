"""How have the checks fared? One line for each, from what `ops.quality` holds; needs no JVM."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from smelter.contracts.misfit import nearest
from smelter.errors import Refused
from smelter.lake.home import Lake
from smelter.quality.records import PastResult, past_results

_BARS = "▁▂▃▄▅▆▇█"
_FAILED = "✗"


@dataclass(frozen=True)
class Trend:
    """The last runs of one check, oldest first."""

    name: str
    past: tuple[PastResult, ...]

    @property
    def last(self) -> PastResult:
        """The newest run."""
        return self.past[-1]

    @property
    def last_failure(self) -> PastResult | None:
        """The newest run in which it did not hold."""
        return next((one for one in reversed(self.past) if not one.result.ok), None)

    @property
    def bars(self) -> str:
        """One character for each run: how large the measure was among these; a cross where it failed."""
        measures = [one.result.found for one in self.past]
        largest = max((abs(number) for number in measures if number is not None), default=0.0)
        return "".join(
            _bar(number, largest) if one.result.ok else _FAILED for one, number in zip(self.past, measures, strict=True)
        )


def trends_of(lake: Lake, dataset: str, check: str | None = None, limit: int = 20) -> list[Trend]:
    """The last runs of every check of a dataset, or of one, in the order in which they were last told."""
    by_name: dict[str, list[PastResult]] = {}
    for past in past_results(lake, dataset):
        by_name.setdefault(past.result.name, []).append(past)
    if check is not None and check not in by_name:
        known = ", ".join(by_name) or "no check has been done yet"
        raise Refused(
            f"there is no result of a check `{check}` of {dataset}{nearest(check, by_name)}",
            where=known,
            data="nothing was changed",
            next_step=f"smelt quality run {dataset}",
        )
    wanted = [check] if check is not None else list(by_name)
    return [Trend(name, tuple(by_name[name][-limit:])) for name in wanted]


def _bar(number: float | None, largest: float) -> str:
    if number is None or largest == 0:
        return _BARS[0]
    return _BARS[round(abs(number) / largest * (len(_BARS) - 1))]


def moment(at: datetime) -> str:
    """A time as people read it."""
    return at.strftime("%Y-%m-%d %H:%M:%SZ")
