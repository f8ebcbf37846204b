"""The values of a check as literals of the column's own Spark type, never as a piece of SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from smelter.contracts.checks import Check
from smelter.contracts.rules import ORDERED, rule_value
from smelter.contracts.types import Decimal, Scalar, Type
from smelter.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # times are counted from it: F.lit of one before 1582 is of another calendar
_NAMES = {"bigint": "long", "smallint": "int", "tinyint": "int", "timestamp_ntz": "timestamp"}
_SCALARS = ("string", "boolean", "int", "long", "float", "double", "date", "timestamp", "binary")
_FAMILIES = {
    "between": ORDERED,
    "freshness": frozenset({"timestamp", "date"}),
    "regex": frozenset({"string"}),
    "in_set": frozenset({*ORDERED, "string", "boolean"}),
    "unique": frozenset({*ORDERED, "string", "boolean", "binary"}),
    "exists_in": frozenset({*ORDERED, "string", "boolean", "binary"}),
}


def literal(check: Check, kind: DataType, value: object, key: str) -> Column:
    """A value of a check for a column of this type; one of another type is refused, whatever Spark would make of it."""
    from pyspark.sql import functions as F  # noqa: N812

    try:
        typed = rule_value(_kind(kind), value, key)
    except ValueError as problem:
        raise unfit(check, str(problem)) from problem
    if isinstance(typed, datetime):
        return F.timestamp_micros(F.lit((typed - _EPOCH) // timedelta(microseconds=1)))
    if isinstance(typed, date):
        return F.date_from_unix_date(F.lit((typed - _EPOCH.date()).days))
    return F.lit(typed).cast(kind) if kind.typeName() == "float" else F.lit(typed)  # 0.1 of 32 bits is not 0.1 of 64


def refuse_strange_columns(check: Check, kinds: Mapping[str, DataType]) -> None:
    """A check whose columns are not there, or are of a type for which it has no meaning."""
    for column in check.columns_named:
        if column not in kinds:
            raise unfit(check, f"there is no column `{column}` in these rows")
        name = _family(kinds[column])
        if name not in _FAMILIES.get(check.check, {name}):
            raise unfit(check, f"`{column}` is {kinds[column].simpleString()}, for which {check.check} has no meaning")


def unfit(check: Check, why: str, also: Iterable[str] = ()) -> Refused:
    """A check that cannot be asked of these rows."""
    return Refused(
        f"the check `{check.name}` cannot be done: {why}",
        where="; ".join(also),
        data="nothing was published, and no bookmark moved",
        next_step="mend it under `quality` in the contract, then: smelt contract apply",
    )


def _family(kind: DataType) -> str:
    name = kind.typeName()
    return _NAMES.get(kind.simpleString(), "decimal" if name == "decimal" else kind.simpleString())


def _kind(kind: DataType) -> Type:
    from pyspark.sql.types import DecimalType

    if isinstance(kind, DecimalType):
        return Decimal(38, kind.scale)
    name = _family(kind)
    if name not in _SCALARS:
        raise ValueError(f"no value can be written for {kind.simpleString()}")
    return Scalar(name)
