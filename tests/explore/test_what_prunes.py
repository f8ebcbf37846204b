"""What the page about asking says of files that are read is what DuckDB reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.transforms import DayTransform
from small_lakes import SmallLake

from smelter.explore import Explorer, connect

PAGE = (Path(__file__).parents[2] / "docs" / "explore.md").read_text("utf-8")
CLAIMS = re.findall(r"^\| `([^|]+)` \| (\d+) \|$", PAGE, re.MULTILINE)
MIDNIGHT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAY = MIDNIGHT - timedelta(days=4)
SHAPE = pa.schema(
    {
        "event_id": pa.string(),
        "number": pa.int64(),
        "_source": pa.string(),
        "_ingested_at": pa.timestamp("us", "UTC"),
    }
)


@pytest.fixture(scope="module")
def ten_days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """A table of bronze with one file for each of ten days."""
    lake = SmallLake(tmp_path_factory.mktemp("days") / "lake")
    events = lake.make("bronze", "events", SHAPE)
    with events.transaction() as change:
        change.set_properties({"write.metadata.metrics.column._source": "full"})  # as the platform's tables have it
    with events.update_spec() as change:
        change.add_field("_ingested_at", DayTransform(), "_ingested_at_day")
    for number in range(10):
        rows = range(number * 1000, (number + 1) * 1000)
        columns = {
            "event_id": [sha256(str(row).encode()).hexdigest() for row in rows],
            "number": list(rows),
            "_source": [f"file:///landing/{number}.json"] * 1000,
            "_ingested_at": [datetime.now(UTC) - timedelta(days=9 - number)] * 1000,
        }
        events.refresh().append(pa.table(columns, schema=SHAPE))
    with connect(lake.path) as explorer:
        yield explorer
    lake.close()


def files_read(explorer: Explorer, condition: str) -> int:
    words = condition.replace("{day}", str(DAY.date())).replace("{day after}", str((DAY + timedelta(days=1)).date()))
    words = words.replace("what is spread over all files", "8" * 64)
    plan = explorer.execute(f"explain analyze select max(number) from bronze.events where {words}").fetchall()[0][1]
    return int(re.findall(r"Total Files Read: (\d+)", plan)[0])


def test_the_page_has_its_claims() -> None:
    assert len(CLAIMS) == 11


@pytest.mark.parametrize(("condition", "files"), CLAIMS)
def test_a_condition_reads_as_many_files_as_the_page_says(ten_days: Explorer, condition: str, files: str) -> None:
    assert files_read(ten_days, condition) == int(files)


def test_a_count_and_the_facts_of_tables_read_no_data_file(ten_days: Explorer) -> None:
    for query in ("select count(*) from bronze.events", "select rows from ops.tables"):
        plan = ten_days.execute(f"explain analyze {query}").fetchall()[0][1]
        assert "Total Files Read" not in plan
