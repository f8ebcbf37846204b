"""Taxi trips from files to `gold.trips_per_zone_hour`: every answer is what a plain count of silver gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from smelter.bronze.stream import Pace, ingest
from smelter.contracts import Contract, load_contract
from smelter.gold.build import build_gold
from smelter.gold.models import load_models
from smelter.gold.plan import Step
from smelter.lake.home import BRONZE, GOLD, SILVER, Lake
from smelter.lake.tables import load_table
from smelter.producer import Faults, Plan, produce
from smelter.records.source import Limits
from smelter.settings import Settings
from smelter.silver.build import build_silver
from tiny_spark import tiny_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# PySpark leaves the sockets of collect() to the garbage collector.
pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")]
INCLUDE = Path(__file__).parents[2] / "include"
STARTS = (
    datetime(2026, 3, 8, 6, 59, 59, tzinfo=UTC),  # a second before New York's clocks go forward
    datetime(2026, 3, 8, 12, tzinfo=UTC),
    datetime(2026, 3, 8, 7, tzinfo=UTC),  # late: this hour has answers already
)
Answers = dict[tuple[datetime, int], tuple[datetime, int, float, Decimal]]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.at(Settings(lake=tmp_path / "lake"))


@pytest.fixture
def spark(lake: Lake, tmp_path: Path) -> Iterator[SparkSession]:
    with tiny_spark(lake, tmp_path / "spark") as session:
        yield session


def test_trips_of_each_zone_and_hour_are_those_of_silver_after_each_increment(lake: Lake, spark: SparkSession) -> None:
    trips = load_contract(INCLUDE / "contracts" / "taxi_trips.yaml")
    for number, start in enumerate(STARTS):
        _arrive(lake, trips, start, seed=number)
        ingest(lake, trips, Limits(), Pace(), spark=spark)
        build_silver(lake, trips.dataset, spark=spark)
        report = build_gold(lake, trips, load_models(INCLUDE / "models"), spark=spark)
        assert [one.step for one in report.built] == [Step.WINDOWS if number else Step.WHOLE], report.failed
        assert _answers(lake) == _recounted(lake)
    in_bronze, in_silver = (len(_rows(lake, layer, trips.dataset)) for layer in (BRONZE, SILVER))
    assert in_bronze > in_silver > 500  # some were sent twice
    assert len({start for start, _zone in _answers(lake)}) >= len(STARTS)


def _arrive(lake: Lake, trips: Contract, start: datetime, seed: int) -> None:
    faults = Faults(duplicate=0.05, late=0.05, out_of_order=0.1, garbage=0.02, duplicate_file=0.5)
    landing = lake.root / "landing" / trips.dataset
    produce(trips, Plan(200, landing / str(seed), seed=seed, records_per_file=50, start=start, faults=faults))


def _recounted(lake: Lake) -> Answers:
    groups: dict[tuple[datetime, int], list[dict[str, Any]]] = defaultdict(list)
    for trip in _rows(lake, SILVER, "taxi_trips"):
        at = trip["pickup_at"].astimezone(UTC)
        groups[at.replace(minute=0, second=0, microsecond=0), trip["pickup_location_id"]].append(trip)
    return {
        (start, zone): (
            start + timedelta(hours=1),
            len(found),
            pytest.approx(sum(one["trip_distance"] for one in found) / len(found)),
            sum((one["total_amount"] for one in found), Decimal(0)),
        )
        for (start, zone), found in groups.items()
    }


def _answers(lake: Lake) -> Answers:
    rows = _rows(lake, GOLD, "trips_per_zone_hour")
    found = {(one["window_start"].astimezone(UTC), one["pickup_location_id"]): one for one in rows}
    assert len(found) == len(rows)
    return {
        key: (one["window_end"].astimezone(UTC), one["trips"], one["average_distance"], one["total_amount"])
        for key, one in found.items()
    }


def _rows(lake: Lake, layer: str, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = load_table(lake, layer, name).scan().to_arrow().to_pylist()
    return rows
