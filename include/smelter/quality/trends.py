"""How have the checks fared? One line for each, from what `ops.quality` holds; needs no JVM."""

from __future__ import annotations

from dataclasses import dataclass

from smelter.contracts.misfit import nearest
from smelter.errors import Refused
from smelter.lake.home import Lake
from smelter.quality.records import PastResult, past_results

_BARS = "▁▂▃▄▅▆▇█"
_FAILED = "✗"


@dataclass(frozen=True)
class Trend:
    """The last runs of one check over increments, or over whole tables, oldest first: the two are not alike."""

    name: str
    scope: str
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
    found: dict[tuple[str, str], list[PastResult]] = {}
    for past in past_results(lake, dataset):
        found.setdefault((past.result.name, past.scope), []).append(past)
    names = list(dict.fromkeys(name for name, _ in found))
    if check is not None and check not in names:
        raise Refused(
            f"there is no result of a check `{check}` of {dataset}{nearest(check, names)}",
            where=", ".join(names) or "no check has been done yet",
            data="nothing was changed",
            next_step=f"smelt quality run {dataset}",
        )
    wanted = {one: past for one, past in found.items() if check in (None, one[0])}
    return [Trend(name, scope, tuple(past[-limit:])) for (name, scope), past in wanted.items()]


def _bar(number: float | None, largest: float) -> str:
    if number is None or largest == 0:
        return _BARS[0]
    return _BARS[round(abs(number) / largest * (len(_BARS) - 1))]
