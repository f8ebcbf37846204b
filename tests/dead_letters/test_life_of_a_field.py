"""The life of a new field, from the landing folder to gold and back; and what Spark sees of letters."""

from __future__ import annotations

import json
import random
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from boxes import ARRIVED, COUPONED, GOOD, Box, Row, orders
from mixed import mixed_letters

from smelter.bronze.recovery import recover
from smelter.cli import main
from smelter.contracts import load_contract
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.next_contract import next_contract
from smelter.dead_letters.plan import proposed_contract
from smelter.dead_letters.replay import replay
from smelter.gold.build import build_gold
from smelter.gold.models import load_models
from smelter.lake.evolution import apply_contract
from smelter.lake.home import GOLD, SILVER, Lake
from smelter.lake.spark_letters import letters_with_status
from smelter.lake.tables import load_table
from smelter.settings import Settings
from smelter.silver.build import Wishes, build_silver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
MODELS = [one for one in load_models(Settings().models) if one.name in ("sessions", "revenue_per_product_day")]
NAMES_AND_MOMENTS = ("_merged_at", "_ingested_at", "_batch")


def event(number: int, chance: random.Random, **more: Any) -> Row:
    at = datetime.fromtimestamp(ARRIVED, UTC) - timedelta(seconds=60 * number)
    return {
        "user_id": f"user-{chance.randrange(20)}",
        "event_id": f"event-{number}",
        "event_timestamp": at.isoformat(),
        "event_type": "purchase",
        "product_id": f"sku-{chance.randrange(9)}",
        "properties": {"amount": f"{chance.randrange(100)}.50"},
        **more,
    }


@dataclass
class Events:
    """The shipped dataset with its silver and gold."""

    box: Box
    spark: SparkSession

    def build(self) -> None:
        lake = self.box.lake
        build_silver(lake, "events", Wishes(), spark=self.spark)
        assert not build_gold(lake, self.box.contract, MODELS, spark=self.spark).failed
        self.box.check()

    def tables(self, *without: str) -> dict[str, list[str]]:
        """Every row of bronze, silver and gold, whole but for some columns."""
        rows = {"bronze": self.box.rows()} if "_batch" in without else {"bronze": self._rows("bronze", "events")}
        rows |= {SILVER: self._rows(SILVER, "events"), **{one.name: self._rows(GOLD, one.name) for one in MODELS}}
        return {
            name: sorted(str({key: one[key] for key in sorted(one) if key not in without}) for one in found)
            for name, found in rows.items()
        }

    def _rows(self, namespace: str, name: str) -> list[Row]:
        found: list[Row] = load_table(self.box.lake, namespace, name).scan().to_arrow().to_pylist()
        return found


def test_the_life_of_a_new_field(spark_lake: Lake, spark: SparkSession, tmp_path: Path) -> None:
    shipped = Settings().contracts / "events.yaml"
    own = Path(shutil.copy(shipped, tmp_path))
    box, chance = Box(spark_lake, load_contract(own)), random.Random(8)
    events = Events(box, spark)
    box.arrive("good.json", *(event(number, chance) for number in range(900, 1100)))
    box.arrive("new.json", *(event(number, chance, coupon=f"C{number % 7}") for number in range(1000)))
    box.check()

    found = box.plan()
    (proposal,) = found.proposals
    assert (found.letters, found.passing, proposal.letters, proposal.recovers) == (1000, 0, 1000, 1000)
    assert proposal.what == "add optional `coupon: string`"
    assert proposal.because == "unknown field `coupon`, all strings"
    following = next_contract(box.contract, proposed_contract(spark_lake, found, [1]), found.proposals, own)
    following.save(own, own)
    assert own.read_text().startswith(shipped.read_text().partition("\n")[0])
    box.contract = load_contract(own)
    apply_contract(spark_lake, box.contract)
    assert (box.plan().passing, box.plan().proposals) == (1000, ())
    events.build()
    before = events.tables("_merged_at")

    first_run = box.replayed()
    events.build()
    first = events.tables(*NAMES_AND_MOMENTS)
    home = [row for row in box.rows() if row["coupon"] is not None]
    assert sorted(row["event_id"] for row in home) == sorted(f"event-{number}" for number in range(1000))
    keys = [row["event_id"] for row in events._rows(SILVER, "events")]
    assert len(keys) == len(set(keys)) == 1100
    assert set(box.statuses().values()) == {"replayed"}

    box.undo(first_run)
    events.build()
    assert events.tables("_merged_at") == before
    assert set(box.statuses().values()) == {"open"}

    again = box.replayed()
    events.build()
    assert events.tables(*NAMES_AND_MOMENTS) == first

    box.arrive("late.json", event(5, random.Random(1)), event(950, random.Random(1)))
    box.undo(again)
    events.build()
    files = {row["event_id"]: Path(row["_source"]).name for row in events._rows(SILVER, "events")}
    assert (files["event-5"], files["event-950"]) == ("late.json", "good.json"), "another row takes the place"
    assert len(files) == 201


@pytest.fixture(scope="module")
def mixed(spark_lake: Lake, spark: SparkSession) -> Box:
    return mixed_letters(spark_lake.root, "mixed")


def test_spark_and_duckdb_tell_the_same_of_every_letter(mixed: Box, spark: SparkSession) -> None:
    in_spark = letters_with_status(spark, mixed.name)
    in_duckdb = mixed.letters()
    assert in_spark.columns == [name for name in in_duckdb[0] if name != "file"]
    rows = [row.asDict(recursive=True) for row in in_spark.orderBy("_source", "_position").collect()]
    assert len(rows) == len(in_duckdb) > 10
    for one, other in zip(rows, in_duckdb, strict=True):
        for name in in_spark.columns:
            if name == "age":
                continue
            value = one[name].astimezone(UTC) if isinstance(one[name], datetime) else one[name]
            value = bytes(value) if isinstance(value, bytearray) else value
            assert value == other[name], (one["_id"], name)


def test_the_commands_tell_the_same_of_every_letter(
    mixed: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMELTER_LAKE", str(mixed.lake.root))
    told = mixed.letters()
    for status in ("open", "replayed", "edited", "discarded"):
        assert main.run(["dlq", "ls", mixed.name, "--status", status, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert sum(one["letters"] for one in found["groups"]) == sum(one["status"] == status for one in told)
        assert found["statuses"][status] == sum(one["status"] == status for one in told)
    for one in told:
        assert main.run(["dlq", "show", one["_id"], "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        kept = ("status", "attempts", "reason", "errors", "raw", "run", "judged_by")
        assert {name: found[name] for name in kept} == {name: one[name] for name in kept}


def test_tasks_of_spark_bring_home_what_this_process_would(
    spark_lake: Lake, spark: SparkSession, tmp_path: Path
) -> None:
    contract = orders(dataset="by_tasks")
    box, other = Box(spark_lake, contract), Box(Lake.at(Settings(lake=tmp_path / "lake")), contract)
    for one in (box, other):
        for number in range(3):
            one.arrive(f"{number}.json", GOOD, COUPONED, {"id": "x"})
        one.become()
    found = replay(spark_lake, box.name, Filters(), box.limits, spark=spark)
    assert (found.passed, found.failed) == ({"unknown_field": 3}, {"wrong_type": 3})
    other.replay()
    assert box.state() == other.state()
    box.check()


CUT = b'{"id": 10}\n{"id": "x"}\n{"id": 12'


@pytest.mark.parametrize("lost", ["nothing", "all receipts"])
def test_a_recovery_after_replays_writes_nothing_and_what_was_done_can_still_be_undone(
    box: Box, spark: SparkSession, lost: str
) -> None:
    box.arrive("a.json", GOOD, COUPONED, {"id": "x"}, {"id": "y"}, {"id": "z"})
    box.arrive_bytes("cut.json", CUT)
    box.become()
    before = box.rows(), box.wrongs()
    box.rewrite("cut.json", CUT + b'}\n{"id": 13}\n{"id": "w"}\n')
    runs = [box.replayed(), box.edit("a.json", 2, {"id": 3}).run, box.discard(field="id", source="a.json").run]
    if lost == "all receipts":
        shutil.rmtree(box.receipts)
    state = box.state()
    assert recover(box.lake, box.contract, box.limits, spark=spark).written == 0
    box.check()
    assert box.state() == state
    assert box.ids() == [1, 2, 3, 10, 12, 13]
    for run in reversed(runs):
        assert run is not None
        box.undo(run)
        box.check()
    assert (box.rows(), box.wrongs()) == before
    box.arrive("last.json", {"id": 99})
    box.check()
    assert recover(box.lake, box.contract, box.limits, spark=spark).written == 0
    box.check()


def test_a_recovery_brings_nothing_back_that_retention_has_removed(box: Box, spark: SparkSession) -> None:
    box.arrive("a.json", GOOD, COUPONED, {"id": "x"})
    box.become(rest="dead_letters: {keep: 1s}\n")
    box.replay()
    box.discard()
    _wait_until_over(box)
    assert box.retire().letters == 2
    shutil.rmtree(box.receipts)
    assert recover(box.lake, box.contract, box.limits, spark=spark).written == 0
    box.check()
    assert (box.ids(), box.letters()) == ([1, 2], [])


def _wait_until_over(box: Box) -> None:
    """A second is the shortest time that a contract can keep closed letters."""
    while box.retire(dry_run=True).letters < 2:
        time.sleep(0.1)
