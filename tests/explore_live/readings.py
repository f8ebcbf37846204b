"""What Spark and what DuckDB say that a table holds, in one spelling, and how the two differ."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row

from smelter.errors import SmelterError
from smelter.explore import Explorer
from smelter.explore.quoting import quoted_name, quoted_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOMENT = "timestamptz "
_SHOWN = 100  # letters of a query
_ROWS_SHOWN = 3


@dataclass(frozen=True)
class Filter:
    """A condition in DuckDB's words, for tables that have its columns; Spark says `timestamp` for `timestamptz`."""

    columns: str
    condition: str

    def fits(self, columns: Iterable[str]) -> bool:
        return set(self.columns.split()) <= set(columns)


@dataclass(frozen=True)
class Table:
    """A table by its two names, whatever is in them."""

    namespace: str
    name: str
    is_shown_as_it_is: bool = True  # its view has the same columns

    @property
    def in_spark(self) -> str:
        return ".".join(f"`{one.replace('`', '``')}`" for one in ("lake", self.namespace, self.name))

    @property
    def view(self) -> str:
        return f"{quoted_name(self.namespace)}.{quoted_name(self.name)}"


@dataclass(frozen=True)
class Readers:
    """Two readers of the same lake."""

    spark: SparkSession
    explorer: Explorer

    def sql(self, statement: str) -> list[Row]:
        """Somebody writes with Spark."""
        return list(self.spark.sql(statement).collect())

    def differences(self, table: Table, filters: Sequence[Filter] = ()) -> list[str]:
        """What DuckDB shows of a table that Spark does not, or the other way round: whole, in part, by each filter.

        Spark is asked once, with each condition as a column: what its own filters would skip is no part of this.
        DuckDB is asked by all filters in one statement; each of them reads, and leaves out, files for itself.
        """
        columns = self.spark.table(table.in_spark).columns
        asked = [one.condition for one in filters if one.fits(columns)]
        conditions = "".join(f", {one.replace(_MOMENT, 'timestamp ')}" for one in asked)
        rows = [tuple(row) for row in self.sql(f"select *{conditions} from {table.in_spark}")]
        whole = [row[: len(columns)] for row in rows]
        names = ", ".join(map(quoted_name, reversed(columns)))
        wrong = self.compare(f"select {names} from lake.{table.view}", columns[::-1], [row[::-1] for row in whole])
        if table.is_shown_as_it_is:
            wrong += self.compare(f"select * from {table.view}", columns, whole)
        wrong += self.compare(f"select count(*) as n from {table.view}", ["n"], [(len(rows),)])
        if asked:
            branches = (f"select {quoted_text(one)} as asked, id from {table.view} where {one}" for one in asked)
            place = columns.index("id")
            found = [(one, row[place]) for at, one in enumerate(asked, len(columns)) for row in rows if row[at]]
            wrong += self.compare(" union all ".join(branches), ["asked", "id"], found)
        return wrong

    def compare(self, query: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
        """What DuckDB answers, beside these columns and rows; an error is a difference."""
        try:
            answer = self.explorer.execute(query)
            ours = _counted(answer.fetchall())
        except SmelterError as problem:
            return [f"{query[:_SHOWN]}: {type(problem).__name__}: {problem}"]
        if answer.columns != list(columns):
            return [f"{query[:_SHOWN]}: columns {answer.columns}, and in Spark {list(columns)}"]
        theirs = _counted(rows)
        more, less = list((ours - theirs).elements()), list((theirs - ours).elements())
        if not more and not less:
            return []
        some = f"DuckDB alone has {more[:_ROWS_SHOWN]}, Spark alone {less[:_ROWS_SHOWN]}"
        return [f"{query[:_SHOWN]}: {some} (+{len(more)} -{len(less)})"]


def _counted(rows: Iterable[Sequence[Any]]) -> Counter[Any]:
    return Counter(tuple(normal(value) for value in row) for row in rows)


def normal(value: Any) -> Any:
    """One spelling for what the two spell differently, and nothing else is the same: every value with its type.

    - A float is its exact digits, so that NaN is NaN and 0.0 is not -0.0.
    - A decimal has its scale: 1.50 is not 1.5.
    - A timestamp is a moment in UTC; PySpark gives one without a zone, in the zone of this machine.
    - Binary is bytes, be it a bytearray. A struct is its members by name, whether a Row or a dict.
    - A map is its pairs in no order; a struct and a map of the same names are told apart by what the other side says,
      which both give as a dict (DuckDB) or as a Row and a dict (Spark): by pairs they are equal.
    """
    match value:
        case None | bool() | int() | str():
            return (type(value).__name__, value)
        case float():
            return ("float", value.hex())
        case Decimal():
            return ("decimal", str(value))
        case datetime.datetime():
            return ("moment", value.astimezone(datetime.UTC).isoformat())
        case datetime.date():
            return ("date", value.isoformat())
        case bytes() | bytearray() | memoryview():
            return ("binary", bytes(value))
        case Row():
            return normal(value.asDict(recursive=False))
        case dict():
            return ("pairs", frozenset((key, normal(member)) for key, member in value.items()))
        case list() | tuple():
            return ("list", tuple(normal(member) for member in value))
    raise TypeError(f"a reader gave a {type(value).__name__}")
