"""Every contract that was ever active, in `ops.contracts`. The active one is kept with the table that it made."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from smelter.contracts import Contract, parse_contract
from smelter.lake.catalog import catalog_errors
from smelter.lake.home import BRONZE, CONTRACTS, OPS, Lake
from smelter.lake.tables import ACTIVE, APPLIED_AT, active_contract, ensure_contracts_table, find_table, load_table


@dataclass(frozen=True)
class PastContract:
    """A contract that was active from a moment on."""

    contract: Contract
    applied_at: datetime


def remember_active(lake: Lake, dataset: str) -> None:
    """Write the active contract down, unless it is. Whoever applies another one does this first, so none is lost.

    Safe to repeat; should two do it at once, the same row is there twice, and whoever reads takes one.
    """
    table = load_table(lake, BRONZE, dataset)
    contracts = ensure_contracts_table(lake)
    active = active_contract(table)
    if active.version in {past.contract.version for past in _remembered(contracts, dataset)}:
        return
    row = {
        "dataset": dataset,
        "version": active.version,
        "contract": table.properties[ACTIVE],
        "applied_at": _applied_at(table),
    }
    with catalog_errors(str(lake.root)), warnings.catch_warnings(action="ignore"):
        contracts.append(pa.Table.from_pylist([row], schema=contracts.schema().as_arrow()))


def contract_history(lake: Lake, dataset: str) -> list[PastContract]:
    """All contracts of a dataset, oldest first; the last is the active one."""
    table, contracts = load_table(lake, BRONZE, dataset), find_table(lake, OPS, CONTRACTS)
    past = [] if contracts is None else _remembered(contracts, dataset)
    by_version = {one.contract.version: one for one in past}
    active = active_contract(table)
    by_version[active.version] = PastContract(active, _applied_at(table))
    return [by_version[version] for version in sorted(by_version)]


def _remembered(contracts: Table, dataset: str) -> list[PastContract]:
    rows = contracts.scan(row_filter=EqualTo(term="dataset", value=dataset)).to_arrow().to_pylist()
    return [
        PastContract(parse_contract(row["contract"], f"ops.contracts, {dataset}@{row['version']}"), row["applied_at"])
        for row in rows
    ]


def _applied_at(table: Table) -> datetime:
    """A table that was made before contracts could change has its first contract since it was made."""
    said = table.properties.get(APPLIED_AT)
    if said is not None:
        return datetime.fromisoformat(said)
    first = min((log.timestamp_ms for log in table.metadata.metadata_log), default=table.metadata.last_updated_ms)
    return datetime.fromtimestamp(first / 1000, UTC)
