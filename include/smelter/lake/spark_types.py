"""Spark's types and transforms as tables have them. Every column is optional, as Spark makes those that it replaces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from smelter.contracts.values import TRANSFORM
from smelter.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType
    from pyspark.sql.types import StructType as SparkStruct

_SCALARS: dict[str, IcebergType] = {
    "string": StringType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "binary": BinaryType(),
}


def schema_of(rows: SparkStruct, where: str = "") -> Schema:
    """The columns of a DataFrame as a table has them, all optional; a type that tables lack is refused by name."""
    ids = count(1)
    fields = []
    for field in rows.fields:
        kind = _iceberg_type(field.dataType, ids, f"{where}{field.name}")
        fields.append(NestedField(next(ids), field.name, kind, required=False, doc=field.metadata.get("comment")))
    return Schema(*fields)


def as_optional(schema: Schema) -> Schema:
    """The same columns, none of them required, at any depth."""
    return Schema(*(_optional_field(field) for field in schema.fields))


def partition_column(text: str) -> Column:
    """A partition such as `days(event_time)` as Spark's writer takes it."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.functions import partitioning

    match = TRANSFORM.fullmatch(text)
    assert match is not None
    if match["unit"] is not None:
        by_time: Column = getattr(partitioning, match["unit"])(match["time"])
        return by_time
    if match["bucket"] is not None:
        return partitioning.bucket(int(text.removeprefix("bucket(").partition(",")[0]), match["bucket"])
    return F.col(match["plain"])


def _optional_field(field: NestedField) -> NestedField:
    return NestedField(field.field_id, field.name, _optional(field.field_type), required=False, doc=field.doc)


def _optional(kind: IcebergType) -> IcebergType:
    if isinstance(kind, ListType):
        return ListType(kind.element_id, _optional(kind.element_type), element_required=False)
    if isinstance(kind, MapType):
        value = _optional(kind.value_type)
        return MapType(kind.key_id, kind.key_type, kind.value_id, value, value_required=False)
    if isinstance(kind, StructType):
        return StructType(*(_optional_field(member) for member in kind.fields))
    return kind


def _iceberg_type(kind: DataType, ids: Iterator[int], where: str) -> IcebergType:
    from pyspark.sql import types as spark_types

    if isinstance(kind, spark_types.DecimalType):
        return DecimalType(kind.precision, kind.scale)
    if isinstance(kind, spark_types.ArrayType):
        return ListType(next(ids), _iceberg_type(kind.elementType, ids, where), element_required=False)
    if isinstance(kind, spark_types.MapType):
        value = _iceberg_type(kind.valueType, ids, where)
        return MapType(next(ids), _iceberg_type(kind.keyType, ids, where), next(ids), value, value_required=False)
    if isinstance(kind, spark_types.StructType) and kind.fields:
        _refuse_twins([one.name for one in kind.fields], where)
        members = [(one.name, _iceberg_type(one.dataType, ids, where)) for one in kind.fields]
        return StructType(*(NestedField(next(ids), name, member, required=False) for name, member in members))
    scalar = _SCALARS.get(kind.simpleString())
    if scalar is None:
        raise Refused(
            f"{where} would have the type {kind.simpleString()}, which tables do not keep",
            data="nothing was changed",
            next_step="cast it: to string, boolean, int, bigint, double, decimal(p,s), date or timestamp",
        )
    return scalar


def _refuse_twins(names: list[str], where: str) -> None:
    """Members that Spark cannot tell apart: it takes large letters for small ones."""
    small = [name.lower() for name in names]
    twin = next((name for place, name in enumerate(names) if name.lower() in small[:place]), None)
    if twin is not None:
        raise Refused(
            f"{where} would have two members `{twin}`, which tables do not keep",
            data="nothing was changed",
            next_step="name each member: named_struct('one', …, 'two', …)",
        )
