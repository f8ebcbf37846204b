"""kill -9 of whoever builds silver or gold, at any moment: run again, the tables are as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from things import Things, recomputed

from smelter.contracts import load_contract
from smelter.gold.build import build_gold
from smelter.gold.models import Model, load_models
from smelter.lake.home import GOLD, Lake
from smelter.lake.tables import ensure_tables, load_table
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUILDER = Path(__file__).with_name("killed_builder.py")
KILLS = int(os.environ.get("KILLS", "1"))  # gold is killed in a test of its own, tests/gold/test_command.py
MODEL = "sessions"  # the one whose windows depend on each other
SILVER_POINTS = ("spark_started", "read", "judged", "table_ready", "published")
GOLD_POINTS = ("computed", "table_ready", "committed")
SHORT = [("silver", "table_ready", 0.2), ("gold", "computed", 0.2), ("rebuild", "table_ready", 0.6)]


def rounds() -> list[tuple[str, str, float]]:
    chance = random.Random(20261116)
    found = list(SHORT)
    while len(found) < KILLS:
        what = chance.choice(["silver", "silver", "gold", "gold", "rebuild"])
        points = GOLD_POINTS if what == "gold" else SILVER_POINTS
        found.append((what, chance.choice(points), chance.choice([0.0, round(chance.random() * 3, 2)])))
    return found[:KILLS]


@pytest.fixture(scope="module")
def events(lake: Lake, spark: SparkSession) -> Things:
    contract = load_contract(Settings().contracts / "events.yaml")
    ensure_tables(lake, contract)
    return Things(lake, spark, contract)


def some_events(number: int) -> list[dict[str, Any]]:
    chance = random.Random(number)
    return [
        {
            "user_id": f"user-{chance.randrange(5)}",
            "event_id": f"event-{chance.randrange(40 * (number + 1))}",
            "event_type": "purchase",
            "product_id": f"sku-{chance.randrange(3)}",
            "properties": {"amount": f"{chance.randrange(100)}.50"},
        }
        for _ in range(30)
    ]


def models() -> list[Model]:
    return [model for model in load_models(Settings().models) if model.name == MODEL]


def gold(events: Things) -> list[str]:
    return sorted(map(str, load_table(events.lake, GOLD, MODEL).scan().to_arrow().to_pylist()))


@pytest.mark.jvm
@pytest.mark.parametrize(("number", "kill"), list(enumerate(rounds())), ids=lambda one: str(one))
def test_a_killed_run_leaves_nothing_half_done(
    events: Things, number: int, kill: tuple[str, str, float], tmp_path: Path
) -> None:
    for part in range(2):
        events.arrive(stable(some_events(2 * number + part)))
    what, point, seconds = kill
    if what == "gold":
        events.build()
    words = [sys.executable, BUILDER, events.lake.root, events.name, what, point, seconds, MODEL]
    with (tmp_path / "said").open("wb") as said:
        done = subprocess.run([*map(str, words)], stdout=said, stderr=said, check=False)
    assert done.returncode in (-signal.SIGKILL, 0), (tmp_path / "said").read_text()
    assert seconds != 0.2 or done.returncode < 0, "it was to be killed in its merge"
    events.build()
    assert not build_gold(events.lake, events.contract, models(), spark=events.spark).failed
    assert events.silver() == [row | amount_of(row) for row in recomputed(events)]
    grown = gold(events)
    build_gold(events.lake, events.contract, models(), rebuild=True, spark=events.spark)
    assert grown == gold(events)


def stable(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same event has the same time whenever it is sent."""
    for record in records:
        day, minute = divmod(int(record["event_id"].partition("-")[2]), 59)
        record["event_timestamp"] = f"2026-03-{1 + day % 9:02}T10:{minute:02}:00Z"
    return records


def amount_of(row: dict[str, Any]) -> dict[str, Any]:
    return {"amount": Decimal(dict(row["properties"])["amount"])}
