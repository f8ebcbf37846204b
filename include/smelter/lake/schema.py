"""The columns of tables: a contract's fields as Iceberg types, and the columns that the platform adds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    YearTransform,
)
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

from smelter.contracts import Contract
from smelter.contracts.fit import PLATFORM_COLUMNS
from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type
from smelter.contracts.values import TRANSFORM, partition_name

_SCALARS: dict[str, IcebergType] = {
    "string": StringType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "binary": BinaryType(),
}
_ABOUT = {
    "_source": "The file (or later the topic and partition) that the record came from.",
    "_position": "Its number in the source, from 0.",
    "_arrived_at": "When the source arrived.",
    "_ingested_at": "When its batch was written; the same for the whole batch.",
    "_batch": "The token of its batch.",
    "_contract": "The contract that it was judged under.",
}
_UNITS: dict[str, Transform] = {  # type: ignore[type-arg]
    "years": YearTransform(),
    "months": MonthTransform(),
    "days": DayTransform(),
    "hours": HourTransform(),
}
_FIRST_PARTITION_ID = 1000


def bronze_schema(contract: Contract) -> Schema:
    """The contract's fields, then the platform's columns."""
    ids = count(1)
    fields = [
        NestedField(next(ids), name, _iceberg_type(field.kind, ids), required=field.required, doc=field.about or None)
        for name, field in contract.fields.items()
    ]
    return Schema(*fields, *_platform_columns(ids))


def letters_schema() -> Schema:
    """Dead letters: where the record came from, why it is not good, and its text."""
    ids = count(1)
    platform = list(_platform_columns(ids))
    errors = _errors(ids)
    return Schema(
        *platform,
        NestedField(
            next(ids), "_id", StringType(), required=True, doc="Names the letter; the same record, the same id."
        ),
        NestedField(next(ids), "reason", StringType(), required=True, doc="The one word for what is wrong."),
        NestedField(next(ids), "errors", errors, required=True, doc="Everything that is wrong."),
        NestedField(next(ids), "raw", StringType(), required=True, doc="The record's text."),
        NestedField(next(ids), "raw_bytes", BinaryType(), required=False, doc="Its bytes, where the text loses some."),
    )


def resolutions_schema() -> Schema:
    """What happened to letters later; only ever appended to, so that it never conflicts with the stream."""
    return Schema(
        NestedField(1, "dataset", StringType(), required=True),
        NestedField(2, "_source", StringType(), required=True, doc=_ABOUT["_source"]),
        NestedField(3, "_position", LongType(), required=True, doc=_ABOUT["_position"]),
        NestedField(4, "_id", StringType(), required=True, doc="The letter's name."),
        NestedField(5, "action", StringType(), required=True, doc="replay, edit, discard or undo"),
        NestedField(6, "run", StringType(), required=True, doc="Which run of it."),
        NestedField(7, "contract", StringType(), required=True, doc="The contract that was active."),
        NestedField(8, "outcome", StringType(), required=True, doc="replayed, failed, edited, discarded or reopened"),
        NestedField(9, "resolved_at", TimestamptzType(), required=True, doc="The same for the whole run."),
        NestedField(10, "who", StringType(), required=True, doc="Who ran it."),
        NestedField(11, "because", StringType(), required=False, doc="Why, where somebody gave a reason."),
        NestedField(12, "reason", StringType(), required=False, doc="Of a letter that failed again: its reason now."),
        NestedField(13, "errors", _errors(count(14)), required=False, doc="All that was wrong with it then."),
        NestedField(20, "raw", StringType(), required=False, doc="The text that was judged, where it was another one."),
        NestedField(21, "raw_bytes", BinaryType(), required=False, doc="Its bytes."),
    )


def contracts_schema() -> Schema:
    """Every contract that was ever active."""
    return Schema(
        NestedField(1, "dataset", StringType(), required=True),
        NestedField(2, "version", IntegerType(), required=True),
        NestedField(3, "contract", StringType(), required=True, doc="The contract, as JSON."),
        NestedField(4, "applied_at", TimestamptzType(), required=True, doc="When it became active."),
    )


def forgotten_schema() -> Schema:
    """Which records have left for good: identities as runs of positions, and never a value."""
    return Schema(
        NestedField(1, "dataset", StringType(), required=True),
        NestedField(2, "_source", StringType(), required=True, doc=_ABOUT["_source"]),
        NestedField(3, "first", LongType(), required=True, doc="The first position of a run."),
        NestedField(
            4, "last", LongType(), required=True, doc="The last one; every position between them has left too."
        ),
        NestedField(5, "run", StringType(), required=True, doc="Which run let them go."),
        NestedField(6, "why", StringType(), required=True, doc="forget, or retention: their time was up"),
        NestedField(7, "forgotten_at", TimestamptzType(), required=True, doc="The same for the whole run."),
    )


def quality_schema() -> Schema:
    """What every check found, one row for each; only ever appended to."""
    texts = ("run", "dataset", "contract", "scope", "source", "name", "check", "column", "on_failure")
    fields = [NestedField(number, name, StringType(), required=True) for number, name in enumerate(texts, 1)]
    example = StructType(
        NestedField(22, "source", StringType(), required=True),
        NestedField(23, "position", LongType(), required=True),
        NestedField(24, "found", StringType(), required=True),
    )
    examples = ListType(21, example, element_required=True)
    return Schema(
        *fields,
        NestedField(10, "at", TimestamptzType(), required=True, doc="When the rows were judged."),
        NestedField(11, "ok", BooleanType(), required=True, doc="Does the check hold?"),
        NestedField(
            12, "found", DoubleType(), required=False, doc="Failing rows, rows, a share, or an age in seconds."
        ),
        NestedField(13, "wanted", StringType(), required=True),
        NestedField(14, "sentence", StringType(), required=True, doc="What was found and what was wanted."),
        NestedField(15, "rows", LongType(), required=True, doc="The rows that were judged."),
        NestedField(16, "failing", LongType(), required=True, doc="Those of them that fail the check."),
        NestedField(17, "examples", examples, required=True, doc="Up to 20 failing rows."),
        NestedField(18, "decision", StringType(), required=True, doc="published, stopped, overridden or measured"),
        NestedField(19, "reason", StringType(), required=False, doc="Why a failure was overridden."),
    )


def ledger_schema() -> Schema:
    """Receipts of batches that were folded, one row for each; only ever appended to."""
    receipt = (
        ("source", StringType(), "What was read; null for a batch that read nothing."),
        ("length", LongType(), "Its bytes when it was planned."),
        ("modified_ns", LongType(), "When it was last modified then."),
        ("digest", StringType(), "The hash of what was read."),
        ("records", LongType(), "What it held: accepted + dead."),
        ("accepted", LongType(), "Records that went to bronze."),
        ("dead", LongType(), "Records that became dead letters."),
        ("is_whole", BooleanType(), "Was it read to its end, as it was planned?"),
    )
    return Schema(
        NestedField(1, "dataset", StringType(), required=True),
        NestedField(2, "place", StringType(), required=True, doc="stream, or dead_letters for a run over these"),
        NestedField(3, "book", StringType(), required=True, doc="Which folder; one that was lost begins another book."),
        NestedField(4, "sequence", LongType(), required=True, doc="The number of its batch in the book, from 1."),
        NestedField(5, "token", StringType(), required=True, doc=_ABOUT["_batch"]),
        NestedField(6, "contract", StringType(), required=True, doc=_ABOUT["_contract"]),
        NestedField(7, "ingested_at", TimestamptzType(), required=True, doc=_ABOUT["_ingested_at"]),
        NestedField(8, "receipts", LongType(), required=True, doc="How many rows its batch has with a source."),
        *(
            NestedField(number, name, kind, required=False, doc=doc)
            for number, (name, kind, doc) in enumerate(receipt, 9)
        ),
        NestedField(
            17, "batch", StringType(), required=True, doc="The record of its batch, as JSON, without receipts."
        ),
    )


def _errors(ids: Iterator[int]) -> ListType:
    """What is wrong with a record, as both tables of letters keep it."""
    names = ("rule", "field", "found", "message")
    return ListType(
        next(ids),
        StructType(*(NestedField(next(ids), name, StringType(), required=True) for name in names)),
        element_required=True,
    )


def partition_spec(transforms: tuple[str, ...], schema: Schema) -> PartitionSpec:
    """The contract's partitions, such as `days(_ingested_at)`, over a schema that has their columns."""
    fields = []
    for number, text in enumerate(transforms):
        match = TRANSFORM.fullmatch(text)
        assert match is not None
        column = match["time"] or match["bucket"] or match["plain"]
        transform = _transform(text, match["unit"], is_bucket=match["bucket"] is not None)
        source = schema.find_field(column).field_id
        fields.append(PartitionField(source, _FIRST_PARTITION_ID + number, transform, partition_name(text)))
    return PartitionSpec(*fields)


def _transform(text: str, unit: str | None, *, is_bucket: bool) -> Transform:  # type: ignore[type-arg]
    if unit is not None:
        return _UNITS[unit]
    if is_bucket:
        return BucketTransform(int(text.removeprefix("bucket(").partition(",")[0]))
    return IdentityTransform()


def _platform_columns(ids: Iterator[int]) -> Iterator[NestedField]:
    for name, kind in PLATFORM_COLUMNS.items():
        yield NestedField(next(ids), name, _SCALARS[kind], required=True, doc=_ABOUT[name])


def _iceberg_type(kind: Type, ids: Iterator[int]) -> IcebergType:
    if isinstance(kind, Scalar):
        return _SCALARS[kind.name]
    if isinstance(kind, Decimal):
        return DecimalType(kind.precision, kind.scale)
    if isinstance(kind, Array):
        return ListType(next(ids), _iceberg_type(kind.element, ids), element_required=True)
    if isinstance(kind, Map):
        return MapType(next(ids), StringType(), next(ids), _iceberg_type(kind.value, ids), value_required=True)
    assert isinstance(kind, Struct)
    members = (NestedField(next(ids), m.name, _iceberg_type(m.type, ids), required=m.required) for m in kind.members)
    return StructType(*members)
