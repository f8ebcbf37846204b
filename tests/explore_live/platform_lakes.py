"""A lake as the platform itself makes it: bronze and dead letters, a changed contract, silver, gold, replay, care."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readings import Table

from smelter.bronze.batch import Bronze
from smelter.bronze.spread import Here
from smelter.contracts import Contract, parse_contract
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.replay import replay
from smelter.gold.build import build_gold
from smelter.gold.models import load_models
from smelter.lake.catalog import metadata_places
from smelter.lake.evolution import apply_contract
from smelter.lake.home import BRONZE, DEAD_LETTERS, GOLD, OPS, RESOLUTIONS, SILVER, Lake
from smelter.lake.sources import unit_of
from smelter.maintenance.care import Wishes as CareWishes
from smelter.maintenance.care import new_run, run
from smelter.maintenance.engine import Engine
from smelter.maintenance.subjects import subjects_of
from smelter.records import Limits
from smelter.silver.build import build_silver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INCLUDE = Path(__file__).parents[2] / "include"
DATASET = "events"
SPACES = {BRONZE, DEAD_LETTERS, SILVER, GOLD, OPS}
MODELS = ("revenue_per_product_day", "activity_per_minute")
_FIRST = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Platform:
    """The shipped contract and models, on a few records."""

    lake: Lake
    spark: SparkSession
    contract: Contract = field(
        default_factory=lambda: parse_contract((INCLUDE / "contracts" / f"{DATASET}.yaml").read_text(), DATASET)
    )
    _files: Any = field(default_factory=lambda: itertools.count(1))

    def arrive(self, records: int) -> None:
        """A file becomes a batch; every fifth record knows a field that the contract does not."""
        number = next(self._files)
        landing = self.lake.root / self.contract.source.files
        landing.mkdir(parents=True, exist_ok=True)
        file = landing / f"{number:06}.json"
        file.write_text("".join(json.dumps(self._record(number, one)) + "\n" for one in range(records)))
        bronze = Bronze(self.lake, self.contract, Limits(), Here(), lambda _point: None)
        bronze.take_in([unit_of(file)], "test", bronze.books.next_sequence())

    def become_wiser(self) -> None:
        """The contract learns the field, and letters go home."""
        text = (INCLUDE / "contracts" / f"{DATASET}.yaml").read_text()
        text = text.replace("version: 1", "version: 2").replace("fields:\n", "fields:\n  coupon: {type: string}\n")
        self.contract = parse_contract(text, DATASET)
        apply_contract(self.lake, self.contract, from_now_on=True)

    def replay(self) -> None:
        replay(self.lake, DATASET, Filters(), Limits())

    def build(self) -> None:
        build_silver(self.lake, DATASET, spark=self.spark)
        models = [one for one in load_models(INCLUDE / "models") if one.name in MODELS]
        assert not build_gold(self.lake, self.contract, models, spark=self.spark).failed

    def care(self) -> None:
        """Everything that is due within a month is done now."""
        now = datetime.now(UTC)
        with Engine(self.lake, self.spark) as engine:
            wishes = CareWishes(now=now + timedelta(days=30))
            for report in run(self.lake, subjects_of(self.lake), engine, new_run(now), wishes):
                assert report.problem is None, report.problem

    def tables(self) -> list[Table]:
        """Every table of the catalog that the platform made; letters have a view that says more."""
        names = (name.split(".", 1) for name in metadata_places(self.lake.catalog, "the catalog"))
        ours = ((space, name) for space, name in names if space in SPACES)
        return [Table(space, name, space != DEAD_LETTERS or name == RESOLUTIONS) for space, name in ours]

    def _record(self, file: int, number: int) -> dict[str, Any]:
        if number % 7 == 6:
            return {"event_id": file, "event_type": "no such type"}
        moment = _FIRST + timedelta(hours=5 * number + file)
        record: dict[str, Any] = {
            "user_id": f"user {number % 3}",
            "event_id": f"event {number if number % 4 == 0 else 1000 * file + number}",
            "event_timestamp": moment.isoformat(),
            "event_type": "purchase" if number % 2 else "page_view",
            "product_id": f"product {number % 4}" if number % 2 else None,
            "properties": {"amount": f"{number}.5", "n": None} if number % 2 else {},
        }
        return record | ({"coupon": "SPRING"} if number % 5 == 4 else {})
