"""What a contract's expression may call is what Spark has, and is the same at every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from smelter.contracts.expressions import expression_problem
from smelter.contracts.functions import FUNCTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
SPOKEN_BY_THE_PARSER = {"cast", "try_cast", "timestampadd", "timestampdiff"}


def test_spark_has_every_function_that_may_be_called(spark: SparkSession) -> None:
    known = {row["function"] for row in spark.sql("show system functions").collect()}
    assert FUNCTIONS - SPOKEN_BY_THE_PARSER - known == set()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("try_cast(m['a'] as decimal(10,2))", "1.50"),
        ("try_cast(m['b'] as int)", None),
        ("try_to_date(m['b'])", None),
        ("try_divide(n, n - 2)", None),
        ("get(xs, 5)", None),
        ("aggregate(xs, 0, (sum, x) -> sum + x) / 2", "1.5"),
        ("'it\\'s'", "it's"),
        ("m['a'] rlike '^\\\\d'", "true"),
        ("cast(n as string) || n::string", "22"),
        ("timestampdiff(day, date '2020-01-01', date '2020-01-03')", "2"),
        ("case when n between 1 and 3 then 'some' else 'many' end", "some"),
    ],
)
def test_spark_reads_an_expression_as_the_contract_does(
    spark: SparkSession, expression: str, value: str | None
) -> None:
    assert expression_problem(expression, ("m", "n", "xs")) is None
    rows = spark.sql("select map('a', '1.50', 'b', 'x') m, 2 n, array(1, 2) xs")
    assert rows.selectExpr(f"cast({expression} as string) found").collect()[0]["found"] == value
