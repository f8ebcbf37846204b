"""When does a row fail a check? One condition each, from columns and bound values; null passes all but not_null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from smelter.contracts.checks import Check
from smelter.contracts.expressions import columns_of
from smelter.lake.spark_errors import cause_of
from smelter.quality.literals import literal, unfit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

ROW_CHECKS = frozenset({"not_null", "in_set", "between", "regex", "sql"})  # that one row fails by itself
ROW_CHECKS_AMONG_OTHERS = frozenset({"unique", "exists_in"})  # that a row fails because of other rows
_LONGEST_FOUND = 200
_PLAIN = frozenset({"string", "boolean", "int", "bigint", "float", "double", "date", "timestamp", "decimal"})


def kinds_of(rows: DataFrame) -> dict[str, DataType]:
    """The columns of the rows and their types."""
    return {field.name: field.dataType for field in rows.schema.fields}


def fails(check: Check, kinds: Mapping[str, DataType]) -> Column:
    """True for a row that fails the check; never null."""
    from pyspark.sql import functions as F  # noqa: N812

    if check.check == "sql":
        assert check.expression is not None
        return F.coalesce(~F.expr(check.expression), F.lit(False))
    assert check.column is not None
    column, kind = F.col(check.column), kinds[check.column]
    if check.check == "not_null":
        return column.isNull()
    if check.check == "in_set":
        listed = column.isin(*(literal(check, kind, value, "values") for value in check.values or ()))
        return F.coalesce(~listed, F.lit(False))
    if check.check == "regex":
        return F.coalesce(~column.rlike(rf"\A(?:{check.pattern})\z"), F.lit(False))
    return F.coalesce(_is_outside(check, column, kind), F.lit(False))


def _is_outside(check: Check, column: Column, kind: DataType) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    outside = F.isnan(column) if kind.typeName() in ("float", "double") else F.lit(False)
    if check.min is not None:
        outside = outside | (column < literal(check, kind, check.min, "min"))
    if check.max is not None:
        outside = outside | (column > literal(check, kind, check.max, "max"))
    return outside


def found_text(check: Check, kinds: Mapping[str, DataType]) -> Column:
    """What is in the columns that the check looks at, as a text that is not too long."""
    from pyspark.sql import functions as F  # noqa: N812

    names = sorted(columns_of(check.expression)) if check.expression is not None else list(check.columns_named)
    is_one = len(names) == 1 and kinds[names[0]].typeName() in _PLAIN | {"long", "integer"}
    text = F.col(names[0]).cast("string") if is_one else F.to_json(F.struct(*names), {"ignoreNullFields": "false"})
    return F.coalesce(F.left(text, F.lit(_LONGEST_FOUND)), F.lit("null"))


def refuse_odd_expression(check: Check, rows: DataFrame) -> None:
    """An expression that Spark cannot compute over these rows, or that is not a yes or no."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F  # noqa: N812

    try:
        kind = rows.select(F.expr(check.expression or "")).schema.fields[0].dataType.simpleString()
    except AnalysisException as problem:
        raise unfit(check, cause_of(problem), [check.expression or ""]) from problem
    if kind not in ("boolean", "void"):
        raise unfit(check, f"its expression is {kind}, and must be true or false", [check.expression or ""])
