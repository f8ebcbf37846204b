"""Things of a test: records become bronze through the real judge, silver is built, and both are read back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from smelter.bronze.batch import Bronze
from smelter.bronze.spread import Here
from smelter.contracts import Contract, parse_contract
from smelter.lake.evolution import apply_contract
from smelter.lake.home import BRONZE, SILVER, Lake
from smelter.lake.sources import unit_of
from smelter.lake.tables import find_table, load_table
from smelter.records import Limits
from smelter.silver.build import Hooks, Wishes, build_silver
from smelter.silver.report import SilverReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_names = (f"things_{number}" for number in itertools.count(1))
_files = itertools.count(1)
FIELDS = """
  id:     {type: string}
  region: {type: int}
  at:     {type: timestamp}
  seq:    {type: long}
  text:   {type: string}
"""
FIRST = "key: [id, region], event_time: at"
STABLE = "key: [id, region], event_time: at, event_time_stable: true"
LATEST = "key: [id, region], event_time: at, on_duplicate: keep_latest, order_by: seq"
LATEST_STABLE = f"{LATEST}, event_time_stable: true"
NUMBER = "columns: {number: 'try_cast(text as int)'}"


def contract_of(
    silver: str, *, name: str | None = None, version: int = 1, fields: str = FIELDS, quality: str = ""
) -> Contract:
    name = name or next(_names)
    silver = f"silver: {{{silver}}}\n" if silver else ""
    checks = f"quality:\n{quality}" if quality else ""
    text = f"dataset: {name}\nversion: {version}\nfields:{fields}source: {{files: landing/{name}}}\n{silver}{checks}"
    return parse_contract(text, f"{name}.yaml")


def moment(day: int, second: int = 0) -> str:
    return datetime(2026, 3, 1 + day, second // 3600, second // 60 % 60, second % 60, tzinfo=UTC).isoformat()


@dataclass
class Things:
    """One dataset in a lake, with the session that builds its silver."""

    lake: Lake
    spark: SparkSession
    contract: Contract

    @property
    def name(self) -> str:
        return self.contract.dataset

    def arrive(self, records: Sequence[dict[str, Any]]) -> None:
        """One file of records becomes one batch of bronze."""
        landing = self.lake.root / self.contract.source.files
        landing.mkdir(parents=True, exist_ok=True)
        file = landing / f"{next(_files):06}.json"
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        bronze = Bronze(self.lake, self.contract, Limits(), Here(), lambda _point: None)
        bronze.take_in([unit_of(file)], "test", bronze.books.next_sequence())

    def become(self, contract: Contract, drop: Sequence[str] = ()) -> None:
        """Another contract is the active one from now on."""
        apply_contract(self.lake, contract, drop=drop)
        self.contract = contract

    def build(self, hooks: Hooks | None = None, **wishes: Any) -> SilverReport:
        return build_silver(self.lake, self.name, Wishes(**wishes), hooks or Hooks(), self.spark)

    def bronze(self) -> list[dict[str, Any]]:
        return _rows(self.lake, BRONZE, self.name)

    def silver(self) -> list[dict[str, Any]]:
        """Silver's rows without the moment of their merge, in the order of their identity."""
        return [{k: v for k, v in row.items() if k != "_merged_at"} for row in _rows(self.lake, SILVER, self.name)]

    def snapshots(self) -> list[int]:
        table = find_table(self.lake, SILVER, self.name)
        return [] if table is None else [one.snapshot_id for one in table.metadata.snapshots]


def recomputed(things: Things) -> list[dict[str, Any]]:
    """Silver as it must be, by a plain loop over all of bronze."""
    silver = things.contract.silver
    assert silver is not None
    best: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(things.bronze(), key=lambda row: (row["_ingested_at"], row["_source"], row["_position"])):
        key = tuple(row[name] for name in silver.key)
        if key not in best or (silver.order_by is not None and _is_later(row, best[key], silver.order_by)):
            best[key] = row
    derived = silver.columns
    rows = [row | ({"number": _number(row["text"])} if "number" in derived else {}) for row in best.values()]
    return sorted(rows, key=identity)


def identity(row: dict[str, Any]) -> tuple[str, int]:
    return row["_source"], row["_position"]


def _is_later(row: dict[str, Any], other: dict[str, Any], order_by: str) -> bool:
    if row[order_by] is None:
        return False
    return other[order_by] is None or bool(row[order_by] > other[order_by])


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def _rows(lake: Lake, namespace: str, name: str) -> list[dict[str, Any]]:
    rows: Iterable[dict[str, Any]] = load_table(lake, namespace, name).scan().to_arrow().to_pylist()
    return sorted(rows, key=identity)
