"""Records of people, some of them dead letters, and all the places where one of them may be found."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dead_letters.boxes import Box, Row
from smelter.contracts import Contract, parse_contract
from smelter.gold.build import GoldReport, build_gold
from smelter.gold.models import Model, parse_model
from smelter.lake.forgotten import forgotten
from smelter.lake.home import GOLD, SILVER, Lake
from smelter.lake.tables import find_table, load_table
from smelter.ledger.findings import Reconciliation
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.forget import NO_HOOKS, Forgotten, Hooks, forget
from smelter.silver.build import build_silver
from smelter.silver.report import SilverReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PERSON = "471100004711"  # long enough to be in no hash by chance
WHERE = f"user_id = '{PERSON}'"
GIVEN_AWAY = "name-of-the-person"  # in a field that no condition names
_numbers = itertools.count(1)
_FIELDS = """
  user_id:  {type: string, required: true, from: user}
  event_id: {type: string, required: true}
  at:       {type: timestamp, required: true}
  note:     {type: string}
"""
_SILVER = "silver: {key: [event_id], event_time: at%s}\n"
_MODEL = """-- about: people of a day
-- source: silver.{name}
-- window: tumbling 1d
-- grain: window_start
select window_start, count(*) as events, count(distinct user_id) as people, max(note) as note from source group by all
"""


def people_contract(name: str | None = None, *, rest: str = _SILVER % "", version: int = 1) -> Contract:
    name = name or f"people_{next(_numbers)}"
    text = f"dataset: {name}\nversion: {version}\nfields:{_FIELDS}source: {{files: landing/{name}}}\n{rest}"
    return parse_contract(text, f"{name}.yaml")


def silver_part(words: str = "") -> str:
    return _SILVER % words


def event(user: Any, number: int, day: int = 1, note: str = "", **more: Any) -> Row:
    """One record, as its source writes it."""
    return {"user": user, "event_id": f"e{number}", "at": f"2026-03-{day:02}T10:00:00Z", "note": note, **more}


class People(Box):
    """A dataset of people, with silver and gold if there is a session to build them."""

    def __init__(self, lake: Lake, contract: Contract | None = None, spark: SparkSession | None = None) -> None:
        super().__init__(lake, contract or people_contract())
        self.spark = spark
        self.model = self._model()

    def _model(self) -> Model:
        self.model_text = _MODEL.format(name=self.name)
        model, flaws = parse_model(self.model_text, f"days_{self.name}", "a.sql")
        assert model is not None, flaws
        return model

    def arrive_all(self) -> None:
        """The person is in bronze, and in letters of every kind; so are two others."""
        mine = {"note": GIVEN_AWAY}
        self.arrive("a.json", event(PERSON, 1, **mine), event("ann", 2), event("bob", 3), event(PERSON, 4, 2, **mine))
        self.arrive(
            "b.json",
            event("bob", 1, note="takes over"),  # a key that the person had first
            event(int(PERSON), 5, **mine),  # a number where a text is wanted
            f"user={PERSON} {GIVEN_AWAY} is no JSON",
            "user=ann is no JSON either",
            event(PERSON, 6, surprise=1, **mine),
            event("ann", 7, surprise=1),
            event(PERSON, 8, surprise=2, **mine),
            event(PERSON, 9, surprise=3, **mine),
        )
        self.edit("b.json", 6, event(PERSON, 8, 3, **mine))
        self.discard(id=self.id_of("b.json", 7))

    def build_silver(self) -> SilverReport:
        return build_silver(self.lake, self.name, spark=self.spark)

    def build(self) -> GoldReport:
        """Silver and gold, as they are built every few minutes."""
        self.build_silver()
        report = build_gold(self.lake, self.contract, [self.model], spark=self.spark)
        for failed in report.failed:
            raise failed.problem
        return report

    def forget(self, where: str = WHERE, hooks: Hooks = NO_HOOKS, **words: Any) -> Forgotten:
        return forget(self.lake, self.name, where, hooks=hooks, **words)

    def forget_until(self, point: str, where: str = WHERE) -> None:
        """The process dies when it reaches a point."""

        def reach(reached: str) -> None:
            if reached == point:
                raise _DiesError

        with pytest.raises(_DiesError):
            self.forget(where, Hooks(reach=reach))

    def silver(self) -> dict[str, tuple[str, str | None]]:
        """Key to user and note."""
        rows = load_table(self.lake, SILVER, self.name).scan().to_arrow().to_pylist()
        return {row["event_id"]: (row["user_id"], row["note"]) for row in rows}

    def gold(self) -> dict[int, tuple[int, int]]:
        """Day to events and people."""
        rows = load_table(self.lake, GOLD, self.model.name).scan().to_arrow().to_pylist()
        return {row["window_start"].day: (row["events"], row["people"]) for row in rows}

    def users(self) -> list[str]:
        return sorted(row["user_id"] for row in self.rows())

    def reconciled(self) -> Reconciliation:
        found = reconcile(self.lake, self.name)
        assert found.is_balanced, found.problems
        return found

    def forgotten(self) -> set[tuple[str, int]]:
        """File and position."""
        gone = forgotten(self.lake, self.name)
        return {(source.rpartition("/")[2], int(one)) for source, positions in gone.items() for one in positions}


class _DiesError(Exception):
    pass


def found_in_tables(lake: Lake, *texts: str) -> list[str]:
    """The tables that hold one of the texts in a row of their current snapshot."""
    return sorted(name for name, rows in _every_table(lake) if any(text in rows for text in texts))


def _every_table(lake: Lake) -> Iterator[tuple[str, str]]:
    for (namespace,) in lake.catalog.list_namespaces():
        for _, name in lake.catalog.list_tables(namespace):
            table = find_table(lake, namespace, name)
            assert table is not None
            yield f"{namespace}.{name}", repr(table.scan().to_arrow().to_pylist())


MakePeople = Callable[..., People]


@pytest.fixture
def people(lake: Lake) -> People:
    """A dataset in a lake of its own, without silver and without a JVM."""
    return People(lake)


@pytest.fixture
def make_people(spark_lake: Lake, spark: SparkSession) -> MakePeople:
    """Makes datasets in the lake of the shared session."""
    return lambda **words: People(spark_lake, people_contract(**words), spark)
