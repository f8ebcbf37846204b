"""Do the parts of a contract fit together? Names that clash, and columns that are not there or have no order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from smelter.contracts.check_fit import check_misfits
from smelter.contracts.misfit import Misfit, nearest
from smelter.contracts.rules import family
from smelter.contracts.times import seconds_of
from smelter.contracts.types import parse_type
from smelter.contracts.values import TRANSFORM, partition_name

if TYPE_CHECKING:
    from smelter.contracts.model import Contract

PLATFORM_COLUMNS = {
    "_source": "string",
    "_position": "long",
    "_arrived_at": "timestamp",
    "_ingested_at": "timestamp",
    "_batch": "string",
    "_contract": "string",
}
_NESTED = frozenset({"array", "map", "struct"})
_NO_ORDER = _NESTED | {"boolean", "binary"}
_NO_BUCKET = _NESTED | {"boolean", "float", "double"}


def part_misfits(contract: Contract) -> Iterator[Misfit]:
    """Everything that does not fit between the parts of a contract."""
    yield from _shared_sources(contract)
    yield from _renames(contract)
    yield from _silver(contract)
    yield from _derived(contract)
    yield from _partitions(contract)
    yield from _partition_names(contract)
    yield from _retention(contract)
    yield from check_misfits(contract, PLATFORM_COLUMNS)


def _shared_sources(contract: Contract) -> Iterator[Misfit]:
    seen: dict[str, str] = {}
    for name, source_name in contract.source_names.items():
        if source_name in seen:
            yield Misfit(("fields", name), f"`{seen[source_name]}` and `{name}` are both read from `{source_name}`")
        seen.setdefault(source_name, name)


def _renames(contract: Contract) -> Iterator[Misfit]:
    seen: dict[str, str] = {}
    for name, field in contract.fields.items():
        if field.was is None:
            continue
        where = ("fields", name, "was")
        if field.was == name:
            yield Misfit(where, f"`was: {name}` is the field itself")
        elif field.was in contract.fields:
            yield Misfit(where, f"`was: {field.was}` names a field that is still there")
        elif field.was in seen:
            yield Misfit(where, f"`{seen[field.was]}` says `was: {field.was}` too, and only one can be it")
        seen.setdefault(field.was, name)


def _silver(contract: Contract) -> Iterator[Misfit]:
    silver = contract.silver
    if silver is None:
        return
    families = {name: family(field.kind) for name, field in contract.fields.items()}
    for place, name in enumerate(silver.key):
        if name in silver.key[:place]:
            yield Misfit(("silver", "key", place), f"`{name}` is in the key twice")
        elif families.get(name) in _NESTED:
            yield Misfit(("silver", "key", place), f"`{name}` is {_a(families[name])}, which cannot be in a key")
    named: list[tuple[tuple[str | int, ...], str]] = [
        (("silver", "key", place), name) for place, name in enumerate(silver.key)
    ]
    named += [(("silver", "order_by"), silver.order_by or ""), (("silver", "event_time"), silver.event_time or "")]
    for where, name in named:
        if name and name not in families:
            yield Misfit(where, f"there is no field `{name}`{nearest(name, families)}")
    if silver.order_by is not None and families.get(silver.order_by) in _NO_ORDER:
        yield Misfit(
            ("silver", "order_by"), f"`{silver.order_by}` is {_a(families[silver.order_by])}, which has no order"
        )
    if silver.event_time is not None and families.get(silver.event_time, "date") not in ("timestamp", "date"):
        yield Misfit(("silver", "event_time"), f"`{silver.event_time}` is not a timestamp or a date")


def _derived(contract: Contract) -> Iterator[Misfit]:
    """Derived columns that have the name of a field, or whose expression cannot be computed from the fields."""
    columns = contract.silver.columns if contract.silver is not None else {}
    if not columns:
        return
    from smelter.contracts.clock import columns_of_no_text
    from smelter.contracts.expressions import expression_problem

    known = {name: field.kind for name, field in contract.fields.items()}
    known |= {name: parse_type(text) for name, text in PLATFORM_COLUMNS.items()}
    for name, text in columns.items():
        if name in contract.fields:
            yield Misfit(("silver", "columns", name), f"there is a field `{name}` already; take another name")
        elif problem := expression_problem(text, known, columns_of_no_text(known)):
            yield Misfit(("silver", "columns", name), problem)


def _partitions(contract: Contract) -> Iterator[Misfit]:
    families = {name: family(field.kind) for name, field in contract.fields.items()} | PLATFORM_COLUMNS
    for place, problem in partition_problems(families, contract.bronze.partition_by):
        yield Misfit(("bronze", "partition_by", place), problem)


def partition_problems(families: Mapping[str, str], transforms: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Why columns of these families cannot be partitioned so: the place of the partition, and what is wrong."""
    seen: list[tuple[str, bool]] = []
    for place, transform in enumerate(transforms):
        match = TRANSFORM.fullmatch(transform)
        assert match is not None
        column = match["time"] or match["bucket"] or match["plain"]
        problem = _partition_problem(families, column, match["unit"], is_bucket=match["bucket"] is not None)
        kind = (column, match["unit"] is not None)
        if problem is None and kind in seen:
            problem = f"it is partitioned by `{column}` twice"
        seen.append(kind)
        if problem is not None:
            yield place, problem


def _partition_names(contract: Contract) -> Iterator[Misfit]:
    """Columns that have the name of a partition field: no reader could open a table that has both."""
    silver = contract.silver
    by_day = f"days({silver.event_time})" if silver is not None and silver.event_time is not None else None
    in_silver = {partition_name(by_day): f"silver is partitioned by {by_day}"} if by_day is not None else {}
    in_bronze = {partition_name(text): f"bronze is partitioned by {text}" for text in contract.bronze.partition_by}
    for name in contract.fields:
        if why := in_silver.get(name) or in_bronze.get(name):
            hint = f"take another, and say `from: {contract.source_names[name]}`"
            yield Misfit(("fields", name), f"`{name}` is the name of a partition, because {why}; {hint}")
    for name in silver.columns if silver is not None else ():
        if why := in_silver.get(name):
            yield Misfit(
                ("silver", "columns", name), f"`{name}` is the name of a partition, because {why}; take another"
            )


def _retention(contract: Contract) -> Iterator[Misfit]:
    """Silver is rebuilt from bronze, so that it may not keep what bronze has let go."""
    bronze, silver = contract.bronze.keep_rows, contract.silver
    if bronze is None or silver is None:
        return
    if silver.keep_rows is None:
        why = f"bronze lets rows go after {bronze}, and silver is rebuilt from bronze"
        yield Misfit(("silver",), f"{why}: silver needs `keep_rows: {bronze}`, or shorter")
    elif seconds_of(silver.keep_rows) > seconds_of(bronze):
        why = f"`{silver.keep_rows}` is longer than bronze keeps its rows ({bronze})"
        yield Misfit(("silver", "keep_rows"), f"{why}, and silver is rebuilt from bronze; write {bronze} or shorter")


def _partition_problem(families: Mapping[str, str], column: str, unit: str | None, *, is_bucket: bool) -> str | None:
    if column not in families:
        return f"there is no column `{column}`{nearest(column, families)}"
    name = families[column]
    if name in _NESTED:
        return f"`{column}` is {_a(name)}, and cannot be partitioned by"
    if unit is not None and name not in ("timestamp", "date"):
        return f"{unit}(…) needs a timestamp or a date, and `{column}` is {_a(name)}"
    if unit == "hours" and name == "date":
        return f"hours(…) needs a timestamp, and `{column}` is a date"
    if is_bucket and name in _NO_BUCKET:
        return f"bucket(…) cannot take a {name}, and `{column}` is one"
    return None


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "ai" else f"a {name}"
