"""A changed contract becomes active: schema, partitioning and contract in one commit, while the stream runs on.

Safe to kill and to repeat: the commit is whole or not there, and applying what is active changes nothing. The contract
that goes is written down in `ops.contracts` before it goes.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AssertCurrentSchemaId,
    RemovePropertiesUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    TableUpdate,
    ValidatableTableRequirement,
)
from pyiceberg.types import DoubleType
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from smelter.contracts import Contract
from smelter.contracts.diff import Change, compare, origins_of
from smelter.errors import Refused, Unreachable
from smelter.lake import layout
from smelter.lake.catalog import catalog_errors
from smelter.lake.evolved import evolved_schema, evolved_spec, refuse_names_of_partitions
from smelter.lake.home import BRONZE, Lake
from smelter.lake.past_contracts import remember_active
from smelter.lake.schema import bronze_schema
from smelter.lake.steps import table_steps
from smelter.lake.tables import ACTIVE, APPLIED_AT, active_contract, contract_properties, ensure_tables, find_table
from smelter.lake.turns import one_at_a_time

_ATTEMPTS = 30  # a stream that commits as fast as it can leaves room for one in a few
_NOTHING = "nothing was changed"
_DOUBLE = DoubleType()


@dataclass(frozen=True)
class Evolution:
    """What a contract would change, and what the table would be."""

    before: Contract
    after: Contract
    changes: tuple[Change, ...]
    schema: Schema
    spec: PartitionSpec

    @property
    def is_safe(self) -> bool:
        """Could it be applied?"""
        return all(change.is_safe for change in self.changes)

    @property
    def refuses_what_passed(self) -> bool:
        """May records become dead letters that would have been taken until now?"""
        return any(change.refuses_what_passed for change in self.changes)

    def steps(self, table: Table) -> list[str]:
        """What becomes of the table, in words; nothing if the contract is refused."""
        is_told_otherwise = self.is_safe and self.before.about != self.after.about
        comment = self.after.about if is_told_otherwise else None
        return table_steps(table.schema(), self.schema, table.spec(), self.spec, comment=comment)


def plan_contract(table: Table, contract: Contract, drop: Collection[str] = ()) -> Evolution:
    """What applying the contract would do to bronze as it is now; changes nothing."""
    before, metadata = active_contract(table), table.metadata
    _refuse_strange_drops(before, contract, drop)
    changes = compare(before, contract, drop)
    if not all(change.is_safe for change in changes):
        return Evolution(before, contract, tuple(changes), table.schema(), table.spec())
    schema = evolved_schema(metadata, bronze_schema(contract), origins_of(before, contract))
    _refuse_partitioned(table, schema)
    refuse_names_of_partitions(metadata, schema, ".".join(table.name()))
    spec = evolved_spec(metadata, schema, contract.bronze.partition_by)
    return Evolution(before, contract, tuple(changes), schema, spec)


def apply_contract(
    lake: Lake, contract: Contract, *, from_now_on: bool = False, drop: Collection[str] = ()
) -> Evolution | None:
    """Make a contract the active one; nothing comes back if it is the first of its dataset.

    The whole step is done again when the stream committed in between. Of two that apply at once, one is told.
    """
    if find_table(lake, BRONZE, contract.dataset) is None:
        ensure_tables(lake, contract)
        return None
    attempts = Retrying(
        retry=retry_if_exception_type(CommitFailedException),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.02, max=1),
        reraise=True,
    )
    with one_at_a_time(lake.root / layout.RUN / "contracts.lock", lambda: None):
        try:
            return attempts(_apply_once, lake, contract, from_now_on, drop)
        except CommitFailedException as problem:
            raise _outrun(contract, problem) from problem


def _apply_once(lake: Lake, contract: Contract, from_now_on: bool, drop: Collection[str]) -> Evolution:
    remember_active(lake, contract.dataset)
    table = find_table(lake, BRONZE, contract.dataset)
    assert table is not None
    evolution = plan_contract(table, contract, drop)
    if evolution.changes:
        _refuse_unsafe(evolution, from_now_on=from_now_on)
        with catalog_errors(str(lake.root)):
            _commit(table, evolution)
        remember_active(lake, contract.dataset)
    return evolution


def _commit(table: Table, evolution: Evolution) -> None:
    wanted = {**contract_properties(evolution.after), APPLIED_AT: datetime.now(UTC).isoformat()}
    gone = [name for name in contract_properties(evolution.before) if name not in wanted]
    updates = (
        *schema_updates(table.metadata, evolution.schema),
        *_spec_updates(table.metadata, evolution.spec),
        SetPropertiesUpdate(updates=wanted),
        *([RemovePropertiesUpdate(removals=gone)] if gone else []),
    )
    schema_id, active = table.metadata.current_schema_id, table.properties[ACTIVE]
    still = (AssertCurrentSchemaId(current_schema_id=schema_id), _StillActive(contract=active))
    with warnings.catch_warnings(action="ignore"), table.transaction() as transaction:
        transaction._apply(updates, still)  # type: ignore[arg-type]  # its list of requirements is closed


def schema_updates(metadata: TableMetadata, schema: Schema) -> tuple[TableUpdate, ...]:
    """What makes a schema the current one, whether the table has had it before or not; nothing if it is."""
    if schema.schema_id == metadata.current_schema_id:
        return ()
    if any(one.schema_id == schema.schema_id for one in metadata.schemas):
        return (SetCurrentSchemaUpdate(schema_id=schema.schema_id),)
    return (AddSchemaUpdate(schema_=schema), SetCurrentSchemaUpdate(schema_id=-1))


def _spec_updates(metadata: TableMetadata, spec: PartitionSpec) -> tuple[TableUpdate, ...]:
    if spec.spec_id == metadata.default_spec_id:
        return ()
    if spec.spec_id in metadata.specs():
        return (SetDefaultSpecUpdate(spec_id=spec.spec_id),)
    return (AddPartitionSpecUpdate(spec=spec), SetDefaultSpecUpdate(spec_id=-1))


class _StillActive(ValidatableTableRequirement):
    """The contract that the change was made from is still the active one when the commit is made."""

    type: Literal["assert-active-contract"] = Field(default="assert-active-contract")
    contract: str

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]  # as PyIceberg has it
        if base_metadata is None or base_metadata.properties.get(ACTIVE) != self.contract:
            raise CommitFailedException("another contract became active")


def _refuse_strange_drops(before: Contract, contract: Contract, drop: Collection[str]) -> None:
    for name in drop:
        if name in contract.fields or name not in before.fields:
            why = "it is still in the contract file" if name in contract.fields else f"{before.label} has no such field"
            raise Refused(f"`{name}` cannot be dropped: {why}", data=_NOTHING)


def _refuse_partitioned(table: Table, schema: Schema) -> None:
    """A partition field without its column cannot be read any more, also in old files.

    Nor can a float become a double: where PyIceberg 0.12 merges manifests, it cuts the new partition values to 32 bits.
    """
    sources = {field.source_id for spec in table.metadata.partition_specs for field in spec.fields}
    after = {field.field_id: field for field in schema.fields}
    for field in table.schema().fields:
        is_gone = field.field_id not in after
        if field.field_id in sources and (is_gone or field.field_type != after[field.field_id].field_type == _DOUBLE):
            raise Refused(
                f"`{field.name}` cannot {'be dropped' if is_gone else 'become a double'}: "
                f"{'.'.join(table.name())} is or was partitioned by it",
                data=_NOTHING,
                next_step="keep it as it is, and add a new optional field beside it",
            )


def _refuse_unsafe(evolution: Evolution, *, from_now_on: bool) -> None:
    dataset, before, after = evolution.after.dataset, evolution.before.label, evolution.after.label
    refused = [change for change in evolution.changes if not change.is_safe]
    if refused:
        first, more = refused[0], len(refused) - 1
        also = f" (and {more} more: smelt contract plan {dataset})" if more else ""
        raise Refused(
            f"{first.where}: {first.what} is refused: {first.why}{also}",
            where=f"{before} is active, and {after} was to be applied",
            data=_NOTHING,
            next_step=first.way_out,
        )
    if evolution.refuses_what_passed and not from_now_on:
        fields = ", ".join(change.where for change in evolution.changes if change.refuses_what_passed)
        raise Refused(
            f"{fields}: records that were taken until now, because unknown fields are ignored, may be refused",
            where=f"{before} → {after}",
            data=_NOTHING,
            next_step=f"if that is meant: smelt contract apply {dataset} --from-now-on",
        )


def _outrun(contract: Contract, problem: Exception) -> Unreachable:
    return Unreachable(
        f"bronze.{contract.dataset} is changed by others faster than the contract could be applied: {problem}",
        data="the contract that was active is still active",
        next_step="run it again",
    )
