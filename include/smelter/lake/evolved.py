"""The table that a changed contract wants: columns keep their ids through renames, and no id is used twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from smelter.errors import Refused
from smelter.lake.schema import partition_spec


def evolved_schema(metadata: TableMetadata, wanted_schema: Schema, origins: Mapping[str, str | None]) -> Schema:
    """The wanted columns with the ids that they have; a new one has an id that no column ever had.

    So a field that was dropped and comes back cannot read the values of the old one, whatever its type is now.
    """
    now = metadata.schema()
    fresh = count(metadata.last_column_id + 1)
    fields = []
    for wanted in wanted_schema.fields:
        name = origins.get(wanted.name, wanted.name)
        fields.append(_field(wanted, _find(now.fields, name) if name is not None else None, fresh))
    number = 1 + max(schema.schema_id for schema in metadata.schemas)
    return next((one for one in metadata.schemas if one == Schema(*fields)), Schema(*fields, schema_id=number))


def refuse_names_of_partitions(metadata: TableMetadata, schema: Schema, table: str) -> None:
    """No column may have the name of a partition field, also of a partitioning that was: readers could not open it.

    Only an identity is called like the column itself; once that is renamed, its old name is taken all the same.
    """
    partitions = [field for spec in metadata.partition_specs for field in spec.fields]
    columns = {field.name: field.field_id for field in schema.fields}
    for one in partitions:
        is_itself = isinstance(one.transform, IdentityTransform) and columns.get(one.name) == one.source_id
        if one.name in columns and not is_itself:
            raise Refused(
                f"there cannot be a column `{one.name}`: {table} is or was partitioned by something of that name",
                where=f"{table}, whose partitions are {', '.join(sorted({one.name for one in partitions}))}",
                data="nothing was changed",
                next_step=f"take another name for it in the contract; a field says `from: {one.name}` if records call "
                f"it so, and `was: {one.name}` if the active contract has it",
            )


def evolved_spec(metadata: TableMetadata, schema: Schema, transforms: tuple[str, ...]) -> PartitionSpec:
    """The contract's partitioning; a partition field that was there before is the same one again."""
    past = {(f.source_id, str(f.transform)): f for spec in metadata.partition_specs for f in spec.fields}
    taken = {field.name for field in past.values()} | {field.name for field in schema.fields}
    fresh = count(1 + (metadata.last_partition_id or 999))
    fields = []
    for wanted in partition_spec(transforms, schema).fields if transforms else ():
        known = past.get((wanted.source_id, str(wanted.transform)))
        fields.append(known or _new_partition(wanted, next(fresh), taken))
    spec = PartitionSpec(*fields, spec_id=1 + max(one.spec_id for one in metadata.partition_specs))
    return next((one for one in metadata.partition_specs if one.compatible_with(spec)), spec)


def _new_partition(wanted: PartitionField, number: int, taken: set[str]) -> PartitionField:
    """A name that another partition field or a column has would be refused by readers."""
    name = f"{wanted.name}_{number}" if wanted.name in taken else wanted.name
    return PartitionField(wanted.source_id, number, wanted.transform, name)


def _field(wanted: NestedField, known: NestedField | None, fresh: Iterator[int]) -> NestedField:
    number = known.field_id if known is not None else next(fresh)
    kind = _type(wanted.field_type, known.field_type if known is not None else None, fresh)
    return NestedField(number, wanted.name, kind, required=wanted.required, doc=wanted.doc)


def _type(wanted: IcebergType, known: IcebergType | None, fresh: Iterator[int]) -> IcebergType:
    if isinstance(wanted, ListType):
        was = known.element_field if isinstance(known, ListType) else None
        element = _field(wanted.element_field, was, fresh)
        return ListType(element.field_id, element.field_type, element_required=element.required)
    if isinstance(wanted, MapType):
        keys, values = (known.key_field, known.value_field) if isinstance(known, MapType) else (None, None)
        key, value = _field(wanted.key_field, keys, fresh), _field(wanted.value_field, values, fresh)
        return MapType(key.field_id, key.field_type, value.field_id, value.field_type, value_required=value.required)
    if isinstance(wanted, StructType):
        members = known.fields if isinstance(known, StructType) else ()
        return StructType(*(_field(member, _find(members, member.name), fresh) for member in wanted.fields))
    return wanted


def _find(fields: tuple[NestedField, ...], name: str) -> NestedField | None:
    return next((field for field in fields if field.name == name), None)
