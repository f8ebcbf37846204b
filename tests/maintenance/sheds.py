"""A dataset whose tables want care: many small batches, strays in its folders, and the ways to look after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bronze.streams import Stream, records
from smelter.contracts import Contract, parse_contract
from smelter.lake.batches import Unit
from smelter.lake.catalog import local_path
from smelter.lake.home import BRONZE, Lake
from smelter.lake.sources import unit_of
from smelter.lake.tables import load_table
from smelter.maintenance.care import ALL_STEPS, Hooks, TableReport, Wishes, new_run, plan, run
from smelter.maintenance.engine import Engine
from smelter.maintenance.steps import Step
from smelter.maintenance.subjects import Subject, subjects_of
from smelter.silver.build import build_silver

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

SILVER_BY_ID = "silver: {key: [id]}\n"


def contract_of(dataset: str, *, maintenance: str = "", rest: str = SILVER_BY_ID) -> Contract:
    """A contract with a number and a note."""
    care = f"maintenance: {{{maintenance}}}\n" if maintenance else ""
    text = (
        f"dataset: {dataset}\nversion: 1\nfields:\n  id: {{type: long, required: true}}\n  note: {{type: string}}\n"
        f"source: {{files: landing/{dataset}}}\n{rest}{care}"
    )
    return parse_contract(text, f"{dataset}.yaml")


def later(**words: float) -> datetime:
    """A moment that is still to come."""
    return datetime.now(UTC) + timedelta(**words)


@dataclass
class Shed(Stream):
    """A stream whose batches are taken in here, without Spark, and whose tables are looked after."""

    def __init__(self, lake: Lake, contract: Contract, spark: SparkSession | None = None) -> None:
        super().__init__(lake, contract)
        self.spark = spark
        self._batches = 0

    def commit(self, batches: int = 1, *, good: int = 2, bad: int = 1) -> None:
        """So many files arrive, and each becomes one batch."""
        bronze = self.bronze()
        for _ in range(batches):
            self._batches += 1
            path = self.add(f"{self._batches:05}.json", records(good, bad))
            bronze.take_in([unit_of(path)], "here", bronze.books.next_sequence())

    def build_silver(self) -> None:
        build_silver(self.lake, self.name, spark=self.spark)

    def table(self, namespace: str = BRONZE, name: str | None = None) -> Table:
        return load_table(self.lake, namespace, name or self.name)

    def folder(self, namespace: str = BRONZE) -> Path:
        return local_path(self.table(namespace).location())

    def rows(self, namespace: str = BRONZE) -> list[dict[str, Any]]:
        """Every row, whole, in the order of identity."""
        rows = self.table(namespace).scan().to_arrow().to_pylist()
        return sorted(rows, key=lambda row: (row["_source"], row["_position"]))

    def files(self, namespace: str = BRONZE) -> int:
        return len(list(self.table(namespace).scan().plan_files()))

    def snapshots(self, namespace: str = BRONZE) -> int:
        return len(self.table(namespace).metadata.snapshots)

    def subjects(self, *namespaces: str, live: bool = False) -> list[Subject]:
        names = [f"{namespace}.{self.name}" for namespace in namespaces or (BRONZE,)]
        return subjects_of(self.lake, names, [self.name] if live else [])

    def plan(self, *namespaces: str, live: bool = False, now: datetime | None = None) -> list[TableReport]:
        return list(plan(self.lake, self.subjects(*namespaces, live=live), Wishes(now=now)))

    def care(
        self,
        *namespaces: str,
        now: datetime | None = None,
        steps: Sequence[Step] = tuple(ALL_STEPS),
        reach: Callable[[str], None] = lambda _point: None,
        live: bool = False,
        wait: float = 60,
    ) -> list[TableReport]:
        """Look after the tables, in the session that runs; those of no JVM's need are looked after without one."""
        name, wishes = new_run(datetime.now(UTC)), Wishes(frozenset(steps), wait, now)
        with Engine(self.lake, self.spark) as engine:
            subjects = self.subjects(*namespaces, live=live)
            return list(run(self.lake, subjects, engine, name, wishes, Hooks(reach=reach)))

    def care_for_bronze(self, **words: Any) -> TableReport:
        """Look after bronze, which must succeed."""
        (report,) = self.care(**words)
        if report.problem is not None:
            raise report.problem
        return report

    def plant(self, name: str = "data/orphan.parquet", *, days: float = 10, data: bytes = b"nobody's") -> Path:
        """A file that no snapshot names, so many days old."""
        path = self.folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        moment = datetime.now(UTC).timestamp() - days * 86_400
        os.utime(path, (moment, moment))
        return path

    def units_now(self) -> list[Unit]:
        return [unit_of(path) for path in sorted(self.landing.glob("*.json"))]

    def with_policy(self, **numbers: int) -> Subject:
        """Bronze, looked after by other numbers."""
        (subject,) = self.subjects()
        return replace(subject, policy=replace(subject.policy, **numbers))


def step(report: TableReport, name: Step) -> str:
    """What a step said, or nothing if it had nothing to do."""
    return next((one.said for one in report.steps if one.step == name), "")
