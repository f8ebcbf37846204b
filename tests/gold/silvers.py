"""A silver table of a test, written as silver writes it: appends for new keys, copy-on-write merges for others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smelter.contracts import Contract, parse_contract
from smelter.gold.build import Built, GoldReport, build_gold
from smelter.gold.models import Model, load_models, parse_model
from smelter.lake.bookmarks import Bookmark, bookmark_summary
from smelter.lake.derived import ensure_derived, merge, spark_name
from smelter.lake.home import GOLD, SILVER, Lake
from smelter.lake.removal import REMOVAL
from smelter.lake.spark_types import schema_of
from smelter.lake.tables import load_table

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

MODELS = Path(__file__).parents[2] / "include" / "models"
MIDNIGHT = datetime(2026, 11, 16, tzinfo=UTC)
_numbers = itertools.count(1)
_COLUMNS = """
    event_id string, user_id string, event_timestamp {time}, event_type string, product_id string,
    properties map<string,string>, amount decimal(10,2),
    _source string, _position bigint, _arrived_at timestamp, _ingested_at timestamp, _batch string, _contract string,
    _merged_at timestamp
"""
_OURS = bookmark_summary(Bookmark("bronze", 1))
_UPSERT = ("WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *")


@dataclass(frozen=True)
class Event:
    """One row of silver, as far as a test cares."""

    id: str
    at: datetime | date | None
    user: str | None = "ann"
    type: str = "page_view"
    product: str | None = None
    amount: Decimal | None = None


def minute(minutes: float, **words: Any) -> Event:
    """An event so many minutes after midnight, with an id of its own."""
    return Event(words.pop("id", f"e{next(_numbers)}"), MIDNIGHT + timedelta(minutes=minutes), **words)


@dataclass
class Silver:
    """The table, and the rows that it should hold."""

    lake: Lake
    spark: SparkSession
    time: str = "timestamp"
    rows: dict[str, Event] = field(default_factory=dict)
    name: str = field(default_factory=lambda: f"events_{next(_numbers)}")

    def __post_init__(self) -> None:
        self.columns = _COLUMNS.format(time=self.time)
        empty = self.spark.createDataFrame([], self.columns)
        ensure_derived(self.lake, SILVER, self.name, schema_of(empty.schema), ("days(event_timestamp)",), {})

    @property
    def contract(self) -> Contract:
        return parse_contract(
            f"dataset: {self.name}\nversion: 1\nfields:\n  event_id: {{type: string, required: true}}\n"
            f"  user_id: {{type: string}}\n  event_timestamp: {{type: {self.time}}}\n  event_type: {{type: string}}\n"
            "  product_id: {type: string}\n  properties: {type: 'map<string,string>'}\n"
            f"source: {{files: landing/{self.name}}}\n"
            "silver: {key: [event_id], on_duplicate: keep_latest, order_by: event_timestamp, "
            "event_time: event_timestamp}\n",
            "contract",
        )

    @property
    def table(self) -> Table:
        return load_table(self.lake, SILVER, self.name)

    def append(self, *events: Event) -> Silver:
        self.rows |= {event.id: event for event in events}
        self._frame(events).writeTo(spark_name(SILVER, self.name)).append()
        return self

    def upsert(self, *events: Event) -> Silver:
        """What keep_latest does: one merge, copy-on-write."""
        self.rows |= {event.id: event for event in events}
        merge(self.spark, SILVER, self.name, self._frame(events), "t.event_id = s.event_id", _UPSERT, _OURS)
        return self

    def delete(self, *ids: str) -> Silver:
        for name in ids:
            self.rows.pop(name, None)
        self.spark.conf.set(f"spark.sql.iceberg.snapshot-property.{REMOVAL}", "undo:1")
        self.sql(f"delete from {{}} where event_id in ({', '.join(map(repr, ids))})")
        self.spark.conf.unset(f"spark.sql.iceberg.snapshot-property.{REMOVAL}")
        return self

    def sql(self, statement: str) -> None:
        self.spark.sql(statement.format(spark_name(SILVER, self.name)))

    def model(self, header: str, sql: str, name: str | None = None) -> Model:
        """A model over this table, with a table of its own."""
        text = f"-- about: a test\n-- source: silver.{self.name}\n{header.strip()}\n{sql}"
        model, flaws = parse_model(text, name or f"gold_{next(_numbers)}", "a_model.sql")
        assert model is not None, flaws
        return model

    def shipped(self, name: str) -> Model:
        """A model of the house, over this table."""
        found = next(model for model in load_models(MODELS) if model.name == name)
        return replace(found, name=f"{name}_{self.name}", dataset=self.name)

    def gold(self, *models: Model, rebuild: bool = False, wait_seconds: float = 0) -> GoldReport:
        report = build_gold(
            self.lake, self.contract, models, rebuild=rebuild, wait_seconds=wait_seconds, spark=self.spark
        )
        for one in report.failed:
            raise one.problem
        return report

    def built(self, model: Model, *, rebuild: bool = False) -> Built:
        return self.gold(model, rebuild=rebuild).built[0]

    def _frame(self, events: Iterable[Event]) -> Any:
        number = next(_numbers)
        merged = datetime.now(UTC)
        rows = [
            (
                event.id, event.user, event.at, event.type, event.product, {"n": str(number)}, event.amount,
                f"file:///{number}.json", position, MIDNIGHT, MIDNIGHT, "batch", "events@1", merged,
            )
            for position, event in enumerate(events)
        ]  # fmt: skip
        return self.spark.createDataFrame(rows, self.columns)


def gold_table(silver: Silver, model: Model) -> Table:
    return load_table(silver.lake, GOLD, model.name)


def gold_rows(silver: Silver, model: Model, columns: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """The rows of a gold table, in order."""
    table = gold_table(silver, model).scan(selected_fields=tuple(columns or model.columns)).to_arrow()
    rows: list[Mapping[str, Any]] = table.to_pylist()
    return sorted(plain(tuple(row[name] for name in columns or model.columns) for row in rows), key=repr)


def plain(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """One spelling of zones."""
    return [tuple(v.astimezone(UTC) if isinstance(v, datetime) else v for v in row) for row in rows]


@contextmanager
def away(files: Iterable[str]) -> Iterator[None]:
    """Whoever opens one of the files fails."""
    moved = [(Path(file), Path(f"{file}.away")) for file in files]
    for file, aside in moved:
        file.rename(aside)
    try:
        yield
    finally:
        for file, aside in moved:
            aside.rename(file)
