"""A small lake with one dataset, filled without a JVM."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.spread import Here
from smelter.contracts import Contract, parse_contract
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.sources import source_of, unit_of
from smelter.lake.tables import load_table
from smelter.ledger.findings import Finding, Reconciliation
from smelter.ledger.reconcile import reconcile
from smelter.records import Limits
from smelter.settings import Settings

CONTRACT = "dataset: things\nversion: 1\nfields:\n  a: {type: int, required: true}\nsource: {files: landing/things}\n"
GOOD, BAD = '{"a": 1}\n', '{"a": "x"}\n'
_moments = itertools.count(1_700_000_000)


@dataclass
class Things:
    """The dataset, its landing folder, and what was done to them."""

    lake: Lake
    contract: Contract
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def at(cls, folder: Path) -> Things:
        return cls(Lake.at(Settings(lake=folder)), parse_contract(CONTRACT, "things.yaml"))

    @property
    def landing(self) -> Path:
        return self.lake.root / "landing" / "things"

    def write(self, name: str, text: str) -> Path:
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        moment = next(_moments)
        os.utime(path, (moment, moment))
        return path

    def take(self, *names: str, stop_at: str = "") -> Report | None:
        def reach(point: str) -> None:
            if point == stop_at:
                raise InterruptedError(point)

        bronze = Bronze(self.lake, self.contract, self.limits, Here(), reach)
        return bronze.take_in([unit_of(self.landing / name) for name in names], "test", bronze.books.next_sequence())

    def finish(self) -> None:
        """What the next start of the stream does first."""
        Bronze(self.lake, self.contract, self.limits, Here()).finish_prepared()

    def reconcile(self) -> Reconciliation:
        return reconcile(self.lake, "things")

    def findings(self) -> list[tuple[str, str, int | None]]:
        """Kind, file and position of everything that is wrong."""
        return [(one.kind.value, _name(one), one.position) for one in self.reconcile().problems]

    def source(self, name: str) -> str:
        return source_of(self.landing / name)

    def delete_rows(self, condition: str, namespace: str = BRONZE) -> None:
        """Somebody deletes rows behind our back."""
        load_table(self.lake, namespace, "things").delete(condition)

    def copy_rows(self, condition: str, namespace: str = BRONZE) -> None:
        """Somebody writes rows a second time."""
        table = load_table(self.lake, namespace, "things")
        table.append(table.scan(row_filter=condition).to_arrow())


def _name(finding: Finding) -> str:
    return finding.source.rpartition("/")[2]


__all__ = ["BAD", "BRONZE", "DEAD_LETTERS", "GOOD", "Things"]
