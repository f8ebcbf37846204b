"""Values come out of a table as they went in, and are written without loss."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from small_lakes import SmallLake

from smelter.explore import connect
from smelter.explore.values import as_json, as_text, csv_line, distinct_names

MOMENT = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("day", pa.date32()),
        ("moment", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("amount", pa.decimal128(38, 9)),
        ("ratio", pa.float64()),
        ("yes", pa.bool_()),
        ("bytes", pa.binary()),
        ("labels", pa.map_(pa.string(), pa.int64())),
        ("place", pa.struct([("city", pa.string()), ("codes", pa.list_(pa.int32()))])),
    ]
)
ROW: dict[str, Any] = {
    "day": date(1969, 12, 31),
    "moment": MOMENT,
    "local": datetime(2026, 3, 29, 2, 30),
    "amount": Decimal("12345678901234567890123456789.000000001"),
    "ratio": 0.1,
    "yes": True,
    "bytes": b"\x00\xff",
    "labels": {"a": 1, "b": None},
    "place": {"city": 'a "quoted", name', "codes": [1, None]},
}


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[tuple[Any, ...]]]:
    lake = SmallLake(tmp_path_factory.mktemp("values") / "lake")
    empty = dict.fromkeys(ROW)
    rows = [{**ROW, "labels": list(ROW["labels"].items())}, empty]
    lake.make("bronze", "values", SCHEMA).append(pa.Table.from_pylist(rows, SCHEMA))
    with connect(lake.path) as explorer:
        found = explorer.execute("from bronze.values order by day nulls last")
        columns, values = found.columns, found.fetchall()
    lake.close()
    return columns, values


def test_every_kind_of_value_comes_back_as_it_was_written(answer: tuple[list[str], list[tuple[Any, ...]]]) -> None:
    columns, (full, empty) = answer
    assert dict(zip(columns, full, strict=True)) == ROW
    assert set(empty) == {None}


def test_every_kind_of_value_has_a_json(answer: tuple[list[str], list[tuple[Any, ...]]]) -> None:
    columns, (full, _) = answer
    assert dict(zip(columns, map(as_json, full), strict=True)) == {
        "day": "1969-12-31",
        "moment": "2026-03-29T01:30:00.123456Z",
        "local": "2026-03-29T02:30:00",
        "amount": "12345678901234567890123456789.000000001",
        "ratio": 0.1,
        "yes": True,
        "bytes": "00ff",
        "labels": {"a": 1, "b": None},
        "place": {"city": 'a "quoted", name', "codes": [1, None]},
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        ("", ""),
        (True, "true"),
        (2**70, "1180591620717411303424"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Decimal("0E-10"), "0.0000000000"),
        (time(10, 30), "10:30:00"),
        (timedelta(days=1, seconds=5), "1 day, 0:00:05"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), "2026-01-01T00:00:00Z"),
        ({date(2026, 1, 1): [b"\x01", float("inf")]}, '{"2026-01-01": ["01", "Infinity"]}'),
        ((1, None, "é"), '[1, null, "é"]'),
    ],
)
def test_a_value_has_one_text(value: Any, written: str) -> None:
    assert as_text(value) == written
    json.dumps(as_json(value), allow_nan=False)


def test_csv_is_read_back_by_others() -> None:
    row = ["plain", 'with "quotes", commas', "two\r\nlines", " spaces ", "", None, 5]
    line = csv_line(row)
    assert line.endswith(",5\n")
    assert next(csv.reader(io.StringIO(line, newline=""))) == [*row[:4], "", "", "5"]
    assert line.rstrip("\r\n").endswith(' spaces ,"",,5')  # an empty text and NULL differ


def test_a_row_that_is_only_null_is_no_empty_line() -> None:
    assert csv_line([None]) == '""\n'


def test_columns_of_one_name_get_numbers() -> None:
    assert distinct_names(["a", "b", "a", "a_1", "a"]) == ["a", "b", "a_1", "a_1_1", "a_2"]
