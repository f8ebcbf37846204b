"""A dataset of a test: records in, tables out, and the same rows through three readers."""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.spread import Here
from smelter.contracts import Contract, parse_contract
from smelter.explore import connect
from smelter.lake.home import BRONZE, Lake
from smelter.lake.sources import unit_of
from smelter.lake.tables import load_table
from smelter.records import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_names = (f"things_{number}" for number in itertools.count(1))
_files = itertools.count(1)


def contract_of(fields: str, more: str = "", *, name: str | None = None, version: int = 1) -> Contract:
    name = name or next(_names)
    lines = "".join(f"  {line.strip()}\n" for line in fields.strip().splitlines())
    text = f"dataset: {name}\nversion: {version}\nfields:\n{lines}source: {{files: landing/{name}}}\n{more}"
    return parse_contract(text, f"{name}.yaml")


@dataclass
class Dataset:
    lake: Lake
    contract: Contract

    @property
    def name(self) -> str:
        return self.contract.dataset

    def take(self, records: Sequence[Any], reach: Callable[[str], None] = lambda _point: None) -> Report:
        """One file of records becomes one batch, in this process."""
        landing = self.lake.root / self.contract.source.files
        landing.mkdir(parents=True, exist_ok=True)
        file = landing / f"{next(_files):06}.json"
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        bronze = Bronze(self.lake, self.contract, Limits(), Here(), reach)
        report = bronze.take_in([unit_of(file)], "test", bronze.books.next_sequence())
        assert report is not None
        return report

    def data_files(self) -> list[Path]:
        return [Path(task.file.file_path) for task in load_table(self.lake, BRONZE, self.name).scan().plan_files()]


def by_spark(spark: SparkSession, data: Dataset, what: str = "*", where: str = "true") -> list[dict[str, Any]]:
    query = f"select {what} from lake.bronze.{data.name} where {where} order by _source, _position"
    return [plain(row.asDict(recursive=True)) for row in spark.sql(query).collect()]


def by_pyiceberg(data: Dataset, where: str = "") -> list[dict[str, Any]]:
    table = load_table(data.lake, BRONZE, data.name)
    rows = (table.scan(row_filter=where) if where else table.scan()).to_arrow().to_pylist()
    return sorted((plain(row) for row in rows), key=lambda row: (row["_source"], row["_position"]))


def by_duckdb(data: Dataset, what: str = "*", where: str = "true") -> list[dict[str, Any]]:
    query = f"select {what} from bronze.{data.name} where {where} order by _source, _position"
    with connect(data.lake.root, catalog=data.lake.address) as explorer:
        answer = explorer.execute(query)
        return [plain(dict(zip(answer.columns, row, strict=True))) for row in answer.fetchall()]


def plain(value: Any) -> Any:
    """One spelling for what readers spell differently: zones, bytes, maps as pairs, and so an empty one as a list."""
    if value == {}:
        return []
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, tuple) and len(one) == 2 for one in value):
        return {key: plain(one) for key, one in value}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC) if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return value
