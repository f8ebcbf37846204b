"""Tables made from contracts, and the contract that is active: it lives with the table that it made."""

from __future__ import annotations

import os
import warnings
from datetime import UTC, datetime
from secrets import token_hex

from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from smelter.contracts import Contract, parse_contract
from smelter.contracts.values import bytes_of
from smelter.errors import Refused, Unreachable
from smelter.lake import layout
from smelter.lake.catalog import catalog_errors, metadata_places, real_path
from smelter.lake.commits import told
from smelter.lake.home import BRONZE, CONTRACTS, DEAD_LETTERS, FORGOTTEN, LEDGER, OPS, QUALITY, RESOLUTIONS, Lake
from smelter.lake.schema import (
    bronze_schema,
    contracts_schema,
    forgotten_schema,
    ledger_schema,
    letters_schema,
    partition_spec,
    quality_schema,
    resolutions_schema,
)
from smelter.lake.turns import one_at_a_time

ACTIVE = "smelter.contract"
APPLIED_AT = "smelter.contract-applied-at"
BY_INGESTION_DAY = ("days(_ingested_at)",)
TABLE_PROPERTIES = {
    "format-version": "2",  # PyIceberg cannot write version 3
    "write.parquet.compression-codec": "zstd",
    "write.parquet.compression-level": "1",  # a fifth off the cost of writing, for a hundredth more bytes
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "write.metadata.metrics.column._batch": "full",  # bounds are cut at 16 characters otherwise, and find nothing
    "write.metadata.metrics.column._source": "full",
    "commit.manifest-merge.enabled": "true",
    # A question opens every manifest, so there are few; a large one is not written again for every ten commits.
    "commit.manifest.min-count-to-merge": "10",
    "commit.manifest.target-size-bytes": "524288",
    "commit.retry.num-retries": "10",
}


def ensure_tables(lake: Lake, contract: Contract) -> Contract:
    """Make the dataset's tables if they are not there; returns the active contract, which is the first that came.

    Safe to repeat and to run twice at once: each table is made once, and bronze, which holds the contract, last.
    """
    with one_at_a_time(lake.root / layout.RUN / "tables.lock", lambda: None):
        if find_table(lake, BRONZE, contract.dataset) is None:
            _refuse_shared_landing(lake, contract)
        _make_tables(lake, contract)
    return active_contract(load_table(lake, BRONZE, contract.dataset))


def _make_tables(lake: Lake, contract: Contract) -> None:
    """The catalog and its namespaces have no way of their own to be made twice at once."""
    _ensure_resolutions(lake)
    _ensure_table(lake, DEAD_LETTERS, contract.dataset, letters_schema(), BY_INGESTION_DAY, {})
    properties = {**contract_properties(contract), APPLIED_AT: datetime.now(UTC).isoformat()}
    _ensure_table(lake, BRONZE, contract.dataset, bronze_schema(contract), contract.bronze.partition_by, properties)


def _ensure_resolutions(lake: Lake) -> None:
    """Earlier versions made it with other columns, and never wrote a row: such a one is made anew."""
    table = find_table(lake, DEAD_LETTERS, RESOLUTIONS)
    if table is not None and table.current_snapshot() is None and "_id" not in table.schema().column_names:
        lake.catalog.drop_table((DEAD_LETTERS, RESOLUTIONS))
    found = {"write.metadata.metrics.column.run": "full"}
    _ensure_table(lake, DEAD_LETTERS, RESOLUTIONS, resolutions_schema(), ("dataset",), found)


def contract_properties(contract: Contract) -> dict[str, str]:
    """What bronze's properties say of its contract."""
    return {
        ACTIVE: contract.model_dump_json(by_alias=True, exclude_unset=True),
        **file_properties(contract),
    }


def file_properties(contract: Contract) -> dict[str, str]:
    """What the properties of each table with a dataset's rows say of its files, and what a row is."""
    return {
        "write.target-file-size-bytes": str(bytes_of(contract.maintenance.target_file)),
        **({"comment": contract.about} if contract.about else {}),
    }


def ensure_contracts_table(lake: Lake) -> Table:
    """The table of every contract that was ever active; made if it is not there."""
    return ensure_table(lake, OPS, CONTRACTS, contracts_schema(), (), {})


def ensure_quality_table(lake: Lake) -> Table:
    """The table of what every check found; made if it is not there."""
    return ensure_table(lake, OPS, QUALITY, quality_schema(), (), {})


def ensure_forgotten_table(lake: Lake) -> Table:
    """The table of records that have left for good; made if it is not there."""
    return ensure_table(lake, OPS, FORGOTTEN, forgotten_schema(), ("dataset",), {})


def ensure_ledger_table(lake: Lake) -> Table:
    """The table of receipts that were folded; made if it is not there.

    By dataset, so that compaction never mixes what is read apart; source and token are found by their bounds.
    """
    found = {f"write.metadata.metrics.column.{name}": "full" for name in ("token", "source")}
    return ensure_table(lake, OPS, LEDGER, ledger_schema(), ("dataset",), found)


def ensure_table(
    lake: Lake, namespace: str, name: str, schema: Schema, partitions: tuple[str, ...], properties: dict[str, str]
) -> Table:
    """A table of this name, made if it is not there; one that is there stays as it is."""
    with one_at_a_time(lake.root / layout.RUN / "tables.lock", lambda: None):
        _ensure_table(lake, namespace, name, schema, partitions, properties)
    return load_table(lake, namespace, name)


def _refuse_shared_landing(lake: Lake, contract: Contract) -> None:
    """Two datasets that read the same file would both claim its records, and put it away under each other."""
    folder = lake.landing(contract)
    for name in datasets(lake):
        other = lake.landing(active_contract(load_table(lake, BRONZE, name)))
        if folder.is_relative_to(other) or other.is_relative_to(folder):
            raise Refused(
                f"the landing folder of {contract.dataset} is in that of {name}, or the other way round",
                where=f"{folder} and {other}",
                data="nothing was read or changed",
                next_step=f"give {contract.dataset} a folder of its own in its contract: source: {{files: …}}",
            )


def find_table(lake: Lake, namespace: str, name: str) -> Table | None:
    """A table at its newest state, or nothing if there is none; makes nothing."""
    if not lake.has_catalog:
        return None
    try:
        with catalog_errors(str(lake.root)):
            return lake.catalog.load_table((namespace, name))
    except NoSuchTableError:
        return None
    except FileNotFoundError as problem:
        raise _without_metadata(namespace, name, problem) from problem


def load_table(lake: Lake, namespace: str, name: str) -> Table:
    """A table that must be there."""
    table = find_table(lake, namespace, name)
    if table is None:
        raise Unreachable(
            f"there is no table {namespace}.{name}",
            where=str(lake.root),
            data="nothing was changed",
            next_step=f"smelt ingest {name} --drain",
        )
    return table


def active_contract(table: Table) -> Contract:
    """The contract under which the next record of the table's dataset is judged."""
    return parse_contract(table.properties[ACTIVE], f"the active contract of {'.'.join(table.name())}")


def row_count(table: Table) -> int:
    """How many rows a table has, as its newest snapshot says."""
    snapshot = table.current_snapshot()
    return int(told(snapshot, "total-records") or 0) if snapshot is not None else 0


def datasets(lake: Lake) -> list[str]:
    """The datasets that have been ingested."""
    if not lake.has_catalog:
        return []
    with catalog_errors(str(lake.root)):
        if not lake.catalog.namespace_exists(BRONZE):
            return []
        return sorted(name for _, name in lake.catalog.list_tables(BRONZE))


def _free_place(lake: Lake, folder: str) -> str:
    """Two tables never share a folder: somebody may have given the one that lies there another name."""
    inside = f"{real_path(folder)}{os.sep}"
    is_taken = any(place.startswith(inside) for place in metadata_places(lake.catalog, str(lake.root)).values())
    return f"{folder}-{token_hex(2)}" if is_taken else folder


def _ensure_table(
    lake: Lake, namespace: str, name: str, schema: Schema, partitions: tuple[str, ...], properties: dict[str, str]
) -> None:
    if find_table(lake, namespace, name) is not None:
        return
    spec = partition_spec(partitions, schema) if partitions else PartitionSpec()
    with catalog_errors(str(lake.root)), warnings.catch_warnings(action="ignore"):
        try:
            lake.catalog.create_namespace_if_not_exists(namespace)
            location = _free_place(lake, lake.table_location(namespace, name))
            lake.catalog.create_table(
                (namespace, name), schema, location, spec, properties={**TABLE_PROPERTIES, **properties}
            )
        except (NamespaceAlreadyExistsError, TableAlreadyExistsError):  # somebody else was quicker
            _ensure_table(lake, namespace, name, schema, partitions, properties)


def _without_metadata(namespace: str, name: str, problem: FileNotFoundError) -> Unreachable:
    return Unreachable(
        f"the metadata of {namespace}.{name} is gone",
        where=str(problem.filename or problem),
        data="the catalog names a file that is not there; nothing was changed",
        next_step="bring the folder back from a backup, or begin anew with: smelt lake drop",
    )
