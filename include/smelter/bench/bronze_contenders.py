"""One contender in a process of its own, warm and waiting: files in, a table (or a file) out, again and again.

Run as `python -m smelter.bench.bronze_contenders NAME CONTRACT JARS SCRATCH`; each line of its standard input names a
folder, and each is answered with one line of JSON: the seconds, the processor time, and what was found afterwards.
Smelter can also be asked for a number of small batches.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from smelter.bench.bronze_files import ARRAYS, files_in
from smelter.bench.meters import cpu_seconds
from smelter.contracts import Contract, load_contract
from smelter.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from smelter.bench.small_batches import SmallBatches
    from smelter.lake.home import Lake

Run = Callable[[], None]


@dataclass(frozen=True)
class Answer:
    """What one run took, and how many rows were there after it that were not there before."""

    seconds: float
    cpu_seconds: float
    good: int
    dead: int


class Contender(Protocol):
    """Somebody who takes files in."""

    def ready(self, folder: Path, form: str) -> Run:
        """Whatever need not be timed; the rest is returned."""

    def held(self) -> tuple[int, int]:
        """All rows so far: good ones and dead letters, as the tables tell them."""


class Smelter:
    """Bronze as users run it: a stream that follows, every check, both tables, receipts, exactly once."""

    def __init__(self, lake: Lake, contract: Contract) -> None:
        from smelter.bench.follower import Follower

        self.follower = Follower(lake, contract)
        self._lake = lake
        self._dataset = contract.dataset
        self._taken = 0

    @classmethod
    @contextmanager
    def open(cls, contract: Contract, lake: Lake) -> Iterator[Smelter]:
        """Follow until the end."""
        smelter = cls(lake, contract)
        with smelter.follower:
            yield smelter

    def ready(self, folder: Path, form: str) -> Run:
        """The files lie beside their place; one rename lets all of them arrive at once."""
        del form
        self._taken += 1
        landing = self.follower.landing
        hidden = landing / f".{folder.name}-{self._taken}"
        hidden.mkdir()
        files = files_in(folder)
        for file in files:
            (hidden / file.name).hardlink_to(file)

        def run() -> None:
            hidden.rename(landing / hidden.name[1:])
            self.follower.wait_for_files(len(files))

        return run

    def held(self) -> tuple[int, int]:
        """What both tables say of themselves."""
        from smelter.lake.home import BRONZE, DEAD_LETTERS

        return rows_of(self._lake, BRONZE, self._dataset), rows_of(self._lake, DEAD_LETTERS, self._dataset)


class DuckDB:
    """The ceiling: `read_json` with all types given, straight to one zstd Parquet file. No check, no table."""

    def __init__(self, contract: Contract, scratch: Path) -> None:
        import duckdb

        from smelter.bench.contenders import duckdb_type

        self._columns = {name: duckdb_type(rules.kind) for name, rules in contract.fields.items()}
        self._connection = duckdb.connect(config={"threads": os.cpu_count() or 1})
        self._target = scratch / "duckdb.parquet"
        self._rows = 0

    @classmethod
    @contextmanager
    def open(cls, contract: Contract, lake: Lake) -> Iterator[DuckDB]:
        """A connection."""
        yield cls(contract, lake.root)

    def ready(self, folder: Path, form: str) -> Run:
        """One COPY."""
        import pyarrow.parquet as pq

        copy = "copy (select * from read_json($files, columns = $columns, format = $form)) to '{}' (format parquet, {})"
        statement = copy.format(str(self._target).replace("'", "''"), "compression zstd")
        files = [str(file) for file in files_in(folder)]
        given = {
            "files": files,
            "columns": self._columns,
            "form": "array" if form == ARRAYS else "newline_delimited",
        }

        def run() -> None:
            self._connection.execute(statement, given)
            self._rows += pq.read_metadata(self._target).num_rows

        return run

    def held(self) -> tuple[int, int]:
        """Good or not, a row is a row."""
        return self._rows, 0


class PyIceberg:
    """PyArrow parses, PyIceberg appends: no check, one table. PyArrow reads NDJSON only, and has no maps in it."""

    def __init__(self, contract: Contract, lake: Lake) -> None:
        self._contract = contract
        self._lake = lake
        self._schema: pa.Schema | None = None

    @classmethod
    @contextmanager
    def open(cls, contract: Contract, lake: Lake) -> Iterator[PyIceberg]:
        """A catalog of its own."""
        yield cls(contract, lake)

    def ready(self, folder: Path, form: str) -> Run:
        """The first folder tells which columns `properties` has."""
        import pyarrow as pa
        import pyarrow.json as pj

        del form
        files = files_in(folder)
        if self._schema is None:
            self._schema = self._make_table(pj.read_json(files[0]).schema)
        options = pj.ParseOptions(explicit_schema=self._schema, unexpected_field_behavior="ignore")

        def run() -> None:
            tables = [pj.read_json(file, parse_options=options) for file in files]
            self._lake.catalog.load_table(("plain", "events")).append(pa.concat_tables(tables))

        return run

    def _make_table(self, found: pa.Schema) -> pa.Schema:
        import pyarrow as pa

        moment = pa.timestamp("us", "UTC")
        at = found.get_field_index("event_timestamp")
        schema = found.set(at, pa.field("event_timestamp", moment))
        self._lake.catalog.create_namespace("plain")
        properties = {"write.parquet.compression-codec": "zstd"}
        self._lake.catalog.create_table(
            ("plain", "events"), schema, self._lake.table_location("plain", "events"), properties=properties
        )
        return schema

    def held(self) -> tuple[int, int]:
        """Good or not, a row is a row."""
        return (rows_of(self._lake, "plain", "events") if self._schema is not None else 0), 0


def rows_of(lake: Lake, namespace: str, name: str) -> int:
    """How many rows a table has, as its newest snapshot says; none if there is no table yet."""
    from smelter.lake.commits import told
    from smelter.lake.tables import find_table

    table = find_table(lake, namespace, name)
    snapshot = table.current_snapshot() if table is not None else None
    return int(told(snapshot, "total-records") or 0) if snapshot is not None else 0


def _plain_spark(contract: Contract, lake: Lake) -> AbstractContextManager[Contender]:
    from smelter.bench.plain_spark import PlainSpark

    return PlainSpark.open(contract, lake)


CONTENDERS: dict[str, Callable[[Contract, Lake], AbstractContextManager[Contender]]] = {
    "smelter": Smelter.open,
    "duckdb": DuckDB.open,
    "pyiceberg": PyIceberg.open,
    "plain_spark": _plain_spark,
}


def measured(contender: Contender, folder: Path, form: str) -> Answer:
    """One run, with what it used and what it left."""
    before = contender.held()
    run = contender.ready(folder, form)
    used, started = cpu_seconds(), time.monotonic()
    run()
    seconds, cpu = time.monotonic() - started, cpu_seconds() - used
    after = contender.held()
    return Answer(seconds, cpu, after[0] - before[0], after[1] - before[1])


def _answered(contender: Contender, asked: dict[str, Any]) -> Answer | SmallBatches:
    from smelter.bench.small_batches import run_small_batches

    if "small_batches" in asked:
        assert isinstance(contender, Smelter)
        return run_small_batches(contender.follower, asked["small_batches"])
    return measured(contender, Path(asked["folder"]), asked["form"])


def main(arguments: list[str]) -> None:
    """Answer until nobody asks any more."""
    from smelter.lake.home import Lake

    name, contract_file, jars, scratch = arguments
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed, by a JVM for example, is no answer
    lake = Lake.at(Settings(lake=Path(scratch) / name, jars=Path(jars)))
    with CONTENDERS[name](load_contract(Path(contract_file)), lake) as contender:
        for line in sys.stdin:
            print(json.dumps(asdict(_answered(contender, json.loads(line)))), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
