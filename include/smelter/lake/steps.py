"""What a changed contract would do to a table, in words: columns, partitioning, comments."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from smelter.contracts.fit import PLATFORM_COLUMNS


def table_steps(
    before: Schema, after: Schema, old_spec: PartitionSpec, new_spec: PartitionSpec, *, comment: str | None
) -> list[str]:
    """One sentence per step; none if the table stays as it is. `comment` is the table's new one, if it changes."""
    steps = [*_columns(before, after), *_order(before, after)]
    if old_spec.spec_id != new_spec.spec_id:
        steps.append(f"partitioned by {_spec(new_spec, after)}, was {_spec(old_spec, before)}; new files only")
    if comment is not None:
        steps.append(f"comment: {comment}" if comment else "no comment")
    return steps


def _columns(before: Schema, after: Schema) -> Iterator[str]:
    old = {field.field_id: field for field in before.fields}
    new = {field.field_id: field for field in after.fields}
    for number, field in new.items():
        if number in old:
            yield from _changed(old[number], field)
        else:
            comment = f", comment: {field.doc}" if field.doc else ""
            yield f"column {field.name} {field.field_type}: added, id {number}; rows before have null{comment}"
    for number, field in old.items():
        if number not in new:
            yield f"column {field.name} {field.field_type}: dropped; its id {number} is never used again"


def _changed(old: NestedField, new: NestedField) -> Iterator[str]:
    if old.name != new.name:
        yield f"column {old.name}: renamed {new.name}; id {new.field_id} and values stay"
    if old.field_type != new.field_type:
        yield f"column {new.name}: {old.field_type} becomes {new.field_type}"
    if old.required != new.required:
        yield f"column {new.name}: may be null"
    if old.doc != new.doc:
        yield f"column {new.name}: comment: {new.doc}" if new.doc else f"column {new.name}: no comment"


def _order(before: Schema, after: Schema) -> Iterator[str]:
    new, old = ([field.field_id for field in schema.fields] for schema in (after, before))
    if [number for number in new if number in old] != [number for number in old if number in new]:
        names = (field.name for field in after.fields if field.name not in PLATFORM_COLUMNS)
        yield f"columns in the order {', '.join(names)}"


def _spec(spec: PartitionSpec, schema: Schema) -> str:
    parts = [f"{field.transform}({schema.find_column_name(field.source_id)})" for field in spec.fields]
    return ", ".join(parts) or "nothing"
