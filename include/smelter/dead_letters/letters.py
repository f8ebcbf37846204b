"""The letters of a dataset, as they are now: counted and read by DuckDB, or by Spark where there are very many."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from smelter.dead_letters.filters import DUCKDB, IS_ABOUT_A_FILE, SPARK, Filters
from smelter.explore import connect
from smelter.lake.home import DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.letter_status import status_sql
from smelter.postgres import CATALOG_NAME

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from smelter.explore import Answer

BATCH_ROWS = 20_000
JUDGED = ("_id", "_source", "_position", "_arrived_at", "reason", "raw", "raw_bytes")
_SPLIT_BYTES = 16 * 1024 * 1024  # of a letters file: small parts, so that every core has some
_VIEW = "smelter_letters"


class Letters:
    """One dataset's letters with their status, open for questions."""

    def __init__(self, lake: Lake, dataset: str) -> None:
        self._dataset = dataset
        self._explorer = connect(lake.root, catalog=lake.address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._explorer.close()

    def ask(
        self, select: str, filters: Filters, more: str = "true", rest: str = "", wrap: str = "{letters}", **values: Any
    ) -> Answer:
        """`select … from the letters where … rest`, or a question that is wrapped around it.

        `more` is another condition, whose marks have these values.
        """
        where, bound = filters.where(DUCKDB)
        letters = f'{select} from {DEAD_LETTERS}."{self._dataset}" where ({where}) and ({more}) {rest}'
        return self._explorer.execute(wrap.replace("{letters}", letters), {**bound, **values})

    def count(self, filters: Filters) -> tuple[int, int]:
        """How many there are that hold their record, and how many that do not."""
        select = f"select count(*) filter (not {IS_ABOUT_A_FILE}), count(*) filter ({IS_ABOUT_A_FILE})"
        row = self.ask(select, filters).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def whole(self, filters: Filters) -> Iterator[pa.RecordBatch]:
        """Those that hold their record, some thousands at a time."""
        return self.ask(f"select {', '.join(JUDGED)}", filters, f"not {IS_ABOUT_A_FILE}").batches(BATCH_ROWS)

    def from_files(self, filters: Filters) -> list[dict[str, Any]]:
        """Those whose record must be read from its file again."""
        select = f"select {', '.join(JUDGED)}"
        rows: list[dict[str, Any]] = (
            self.ask(select, filters, IS_ABOUT_A_FILE, "order by _source, _position").arrow().to_pylist()
        )
        return rows


def letters_in_spark(spark: SparkSession, dataset: str, filters: Filters) -> DataFrame:
    """The same letters as `Letters.whole`, by the same question, for as many cores as Spark has."""
    rows = spark.read.option("split-size", str(_SPLIT_BYTES)).table(f"{CATALOG_NAME}.{DEAD_LETTERS}.{dataset}")
    rows.createOrReplaceTempView(_VIEW)
    where, bound = filters.where(SPARK)
    letters = status_sql(_VIEW, f"{CATALOG_NAME}.{DEAD_LETTERS}.{RESOLUTIONS}", dataset)
    question = f"select {', '.join(JUDGED)} from ({letters}) where ({where}) and not {IS_ABOUT_A_FILE}"  # noqa: S608
    return spark.sql(question, args=bound)
