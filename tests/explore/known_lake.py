"""A lake in the platform's own tables, with few rows, of which everything is known.

Two batches of four files. Of their 12 records 6 are in bronze: one was replayed, and one came a second time under the
same key. Of the dead letters 3 are open, 1 is discarded; 1 was discarded and then removed, and 1 record is forgotten.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DecimalType, DoubleType, LongType, NestedField, StringType, TimestamptzType

from smelter.contracts import Contract, read_contract
from smelter.lake.bookmarks import Bookmark, bookmark_summary
from smelter.lake.derived import ensure_derived
from smelter.lake.home import BRONZE, DEAD_LETTERS, GOLD, OPS, QUALITY, RESOLUTIONS, SILVER, Lake
from smelter.lake.layout import ensure_layout
from smelter.lake.schema import bronze_schema
from smelter.lake.spark_types import as_optional
from smelter.lake.tables import (
    ensure_forgotten_table,
    ensure_ledger_table,
    ensure_quality_table,
    ensure_table,
    ensure_tables,
    load_table,
)
from smelter.maintenance.journal import Entry, StepDone, record
from smelter.silver.definition import partitions_of

CONTRACT = Path(__file__).parents[2] / "include" / "contracts" / "events.yaml"
DAY = "2026-03-01"
Row = Mapping[str, Any]


def at(clock: str, day: str = DAY) -> datetime:
    """A time of the day on which everything happened."""
    return datetime.fromisoformat(f"{day}T{clock}+00:00")


FIRST, SECOND, REPLAY = at("10:00:00"), at("11:30:00"), at("12:00:00")
FIRST_TOKEN, SECOND_TOKEN, REPLAY_TOKEN = "events:a:0:1", "events:a:1:2", "replay:20260301-120000-1"
SHOP_1, SHOP_2, TILL_1, TILL_2 = (
    f"file:///landing/events/{name}.json" for name in ("shop-0001", "shop-0002", "till-0001", "till-0002")
)
ARRIVED = {SHOP_1: at("09:59:50"), TILL_1: at("09:59:20"), SHOP_2: at("11:29:00"), TILL_2: at("11:28:00")}
_BATCH_OF = {SHOP_1: FIRST, TILL_1: FIRST, SHOP_2: SECOND, TILL_2: SECOND}
_TOKENS = {FIRST: FIRST_TOKEN, SECOND: SECOND_TOKEN, REPLAY: REPLAY_TOKEN}
_CONTRACTS = {FIRST: "events@1", SECOND: "events@2", REPLAY: "events@2"}


class KnownLake:
    """All tables of one dataset, without rows until `fill`."""

    def __init__(self, root: Path) -> None:
        ensure_layout(root)
        self.lake = Lake(root, root)
        self.contract: Contract = ensure_tables(self.lake, read_contract(CONTRACT))
        fields = as_optional(bronze_schema(self.contract)).fields
        more = NestedField(101, "amount", DecimalType(10, 2)), NestedField(102, "_merged_at", TimestamptzType())
        ensure_derived(self.lake, SILVER, "events", Schema(*fields, *more), partitions_of(self.contract), {})
        for ensure in (ensure_forgotten_table, ensure_ledger_table, ensure_quality_table):
            ensure(self.lake)
        for name, columns in _GOLD.items():
            fields = [NestedField(number, *column) for number, column in enumerate(columns, 1)]
            ensure_derived(self.lake, GOLD, name, Schema(*fields), (), {})

    def close(self) -> None:
        self.lake.catalog.close()

    def table(self, namespace: str, name: str) -> Table:
        return load_table(self.lake, namespace, name)

    def append(self, namespace: str, name: str, rows: Iterable[Row], **summary: str) -> Table:
        """One commit; columns that a row does not have are null."""
        table = self.table(namespace, name)
        columns = table.schema().as_arrow()
        wide = [{column: row.get(column) for column in columns.names} for row in rows]
        with warnings.catch_warnings(action="ignore"):
            table.append(pa.Table.from_pylist(wide, schema=columns), snapshot_properties=summary)
        return table.refresh()

    def batch(self, rows: Sequence[Row]) -> None:
        """Rows of one moment become part of bronze, as the stream or a replay would commit them."""
        moment = rows[0]["_ingested_at"]
        told = {"smelter.token": rows[0]["_batch"], "smelter.ingested-at": moment.isoformat()}
        self.append(BRONZE, "events", rows, **told)

    def bookmark(self, newest: datetime | None, through: datetime | None = None) -> Bookmark:
        """Where a reader is that has read bronze as it is now."""
        bronze = self.table(BRONZE, "events")
        snapshot = bronze.current_snapshot()
        assert snapshot is not None
        return Bookmark(str(bronze.metadata.table_uuid), snapshot.snapshot_id, newest, through)

    def merge(self, rows: Iterable[Row], bookmark: Bookmark | None) -> None:
        """Rows become part of silver; a stranger leaves no bookmark."""
        merged = [{**row, "_merged_at": at("10:01:40")} for row in rows]
        self.append(SILVER, "events", merged, **(bookmark_summary(bookmark) if bookmark else {}))

    def delete(self, namespace: str, name: str, source: str, position: int) -> None:
        """Let one row go."""
        with warnings.catch_warnings(action="ignore"):
            self.table(namespace, name).delete(f"_source = '{source}' and _position = {position}")

    @cached_property
    def filled(self) -> KnownLake:
        """With everything that happened."""
        first = [event(SHOP_1, 0, "e0", "09:59:49.500"), event(SHOP_1, 1, "e1", "09:59:45")]
        first += [event(SHOP_1, 2, "e2", "09:00:00"), event(TILL_1, 0, "e3", "09:59:25")]
        self.append(DEAD_LETTERS, "events", [letter(SHOP_1, 3, "missing_field"), letter(TILL_1, 1, "wrong_type")])
        self.batch(first)
        second = [letter(SHOP_2, 2, "missing_field"), letter(SHOP_2, 3, "missing_field")]
        second += [letter(TILL_2, 0, "rule_broken"), letter(TILL_2, 1, "wrong_type")]
        self.append(DEAD_LETTERS, "events", second)
        repeated, forgotten = event(SHOP_2, 0, "e0", "09:59:49.500"), event(SHOP_2, 1, "e4", "11:20:00")
        self.batch([repeated, forgotten])
        self.merge(first, self.bookmark(SECOND))
        self._after_the_stream()
        self._receipts()
        self._quality()
        return self

    def _after_the_stream(self) -> None:
        """A replay, two discardings of which one letter was removed, and a record that was forgotten twice over."""
        home = event(SHOP_1, 3, "e5", "09:59:48", written=REPLAY)
        self.batch([home])
        again = {"reason": "rule_broken", "errors": errors("`user_id` is too long: 4711")}
        resolved = [
            resolution(SHOP_1, 3, "replay", "replayed"),
            resolution(TILL_2, 1, "replay", "failed", **again),
            resolution(TILL_1, 1, "discard", "discarded"),
            resolution(TILL_2, 0, "discard", "discarded"),
        ]
        self.append(DEAD_LETTERS, RESOLUTIONS, resolved)
        self.delete(DEAD_LETTERS, "events", TILL_2, 0)
        gone = {"dataset": "events", "_source": SHOP_2, "first": 1, "last": 1, "why": "forget", "forgotten_at": REPLAY}
        self.append(OPS, "forgotten", [{**gone, "run": "forget:1"}, {**gone, "run": "forget:2"}])
        self.delete(BRONZE, "events", SHOP_2, 1)
        step = StepDone("compact", "done", "3 small files of 3", "3 files became 1", 1.5, 2_000_000)
        record(self.lake, Entry("maintain:1", "bronze.events", REPLAY, "done", 1.5, None, 2_000_000, (step,), ()))

    def _receipts(self) -> None:
        """The first batch is folded too, and its record not removed yet; one file was read again, longer then."""
        first = [receipt(SHOP_1, 3, 1), receipt(TILL_1, 1, 1)]
        self.write_receipts("events", 1, FIRST, first)
        self.write_receipts("events", 2, SECOND, [receipt(SHOP_2, 2, 2), receipt(TILL_2, 0, 1)])
        self.write_receipts("events/dead_letters", 1, REPLAY, [receipt(TILL_2, 0, 2)])
        folded = {"dataset": "events", "place": "stream", "book": "a", "sequence": 1, "token": FIRST_TOKEN}
        folded |= {"contract": "events@1", "ingested_at": FIRST, "receipts": 2, "batch": "{}"}
        rows = [{**folded, **one, **one["unit"], "digest": ""} for one in first]
        self.append(OPS, "ledger", rows)

    def write_receipts(self, folder: str, sequence: int, moment: datetime, receipts: Sequence[Row]) -> None:
        place = self.lake.root / "receipts" / folder
        place.mkdir(parents=True, exist_ok=True)
        told = {"token": _TOKENS[moment], "sequence": sequence, "contract": _CONTRACTS[moment]}
        told |= {"ingested_at": moment.isoformat().replace("+00:00", "Z"), "receipts": list(receipts)}
        (place / f"{sequence:09}.done.json").write_text(json.dumps(told), "utf-8")

    def _quality(self) -> None:
        """Amounts were sane on the first day, and not on the two days after it."""
        days = [("2026-03-01", 0), ("2026-03-02", 2), ("2026-03-03", 4)]
        rows = [checked(at("13:00:00", day), "amounts are sane", failing) for day, failing in days]
        self.append(OPS, QUALITY, [*rows, checked(at("13:00:00"), "purchases name a product", 0)])

    def with_letters_of_age(self, *ages: timedelta) -> None:
        """Open letters of another dataset, so old by the clock of now."""
        schema = self.table(DEAD_LETTERS, "events").schema()
        ensure_table(self.lake, DEAD_LETTERS, "clicks", schema, (), {})
        written = [datetime.now(UTC) - age for age in ages]
        rows = [letter(SHOP_1, number, "not_json") | {"_ingested_at": one} for number, one in enumerate(written)]
        self.append(DEAD_LETTERS, "clicks", rows)


def identity(source: str, position: int, written: datetime | None = None) -> dict[str, Any]:
    moment = written or _BATCH_OF[source]
    return {
        "_source": source,
        "_position": position,
        "_arrived_at": ARRIVED[source],
        "_ingested_at": moment,
        "_batch": _TOKENS[moment],
        "_contract": _CONTRACTS[moment],
    }


def event(source: str, position: int, key: str, clock: str, written: datetime | None = None) -> Row:
    told = {"user_id": "u1", "event_id": key, "event_timestamp": at(clock), "event_type": "page_view"}
    return told | identity(source, position, written)


def errors(message: str) -> list[dict[str, str]]:
    return [{"rule": "a rule", "field": "user_id", "found": "", "message": message}]


def letter(source: str, position: int, reason: str) -> dict[str, Any]:
    wrong = errors(f'`user_id` is bad: "{position}"')
    name = f"{source[-6]}-{position}"
    return identity(source, position) | {"_id": name, "reason": reason, "errors": wrong, "raw": "{}"}


def resolution(source: str, position: int, action: str, outcome: str, **more: Any) -> Row:
    told = {"dataset": "events", "_source": source, "_position": position, "_id": f"{source[-6]}-{position}"}
    run = REPLAY_TOKEN if action == "replay" else "discard:20260301-120000-2"
    told |= {"action": action, "run": run, "outcome": outcome, "contract": "events@2"}
    return told | {"resolved_at": REPLAY, "who": "ann"} | more


def receipt(source: str, accepted: int, dead: int) -> dict[str, Any]:
    modified = int(ARRIVED[source].timestamp()) * 1_000_000_000
    unit = {"source": source, "length": 100 * (accepted + dead), "modified_ns": modified}
    counts = {"records": accepted + dead, "accepted": accepted, "dead": dead, "is_whole": True}
    return {"unit": unit, "digest": "", **counts}


def checked(moment: datetime, name: str, failing: int) -> Row:
    texts = dict.fromkeys(("run", "source", "check", "column", "wanted"), "")
    told = {"dataset": "events", "contract": "events@1", "scope": "increment", "name": name, "on_failure": "stop"}
    told |= {"at": moment, "ok": not failing, "found": float(failing), "rows": 10, "failing": failing}
    told |= {"examples": [], "decision": "stopped" if failing else "published"}
    return texts | told | {"sentence": f"{name}: {failing} of 10 rows fail"}


_WINDOW = ("window_start", TimestamptzType())
_GOLD: dict[str, list[tuple[str, Any]]] = {
    "revenue_per_product_day": [
        _WINDOW,
        ("product_id", StringType()),
        ("purchases", LongType()),
        ("revenue", DecimalType(20, 2)),
    ],
    "sessions": [
        ("user_id", StringType()),
        _WINDOW,
        ("events", LongType()),
        ("purchases", LongType()),
        ("duration_seconds", DoubleType()),
    ],
    "trips_per_zone_hour": [
        _WINDOW,
        ("pickup_location_id", LongType()),
        ("trips", LongType()),
        ("average_distance", DoubleType()),
        ("total_amount", DoubleType()),
    ],
}
