"""What a stream wrote is rolled back, and read again by identity: each record is in exactly one place afterwards.

Safe to kill and to repeat: before the table changes, a record of a batch says that a recovery has begun. Until it has
come to its end every start of the stream is refused, and `--recover` ends it.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from smelter.bronze.batch import Bronze
from smelter.bronze.books import Books
from smelter.bronze.landed import chunks
from smelter.bronze.recovery import FILES_AT_ONCE, Recovered, read_again
from smelter.bronze.spread import Here, OnSpark
from smelter.bronze.stream import Hooks, driving
from smelter.bronze.trust import refuse_strangers
from smelter.contracts import Contract
from smelter.errors import Refused, SmelterError, Unreachable
from smelter.lake.batches import Intent, Unit, token_of
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, lease
from smelter.lake.recoveries import RECOVER
from smelter.lake.rollback import find_snapshot, roll_back, rows_since, takes_rows_back
from smelter.lake.session import start_spark
from smelter.lake.sources import path_of, unit_of
from smelter.lake.tables import load_table
from smelter.records import Limits
from smelter.supervise import lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOTHING = "nothing was changed"


@dataclass(frozen=True)
class Leaving:
    """What a rollback takes out of a table, and must be read again."""

    rows: int
    sources: tuple[str, ...]
    batches: tuple[str, ...]


def what_leaves(lake: Lake, namespace: str, dataset: str, snapshot: Snapshot) -> Leaving:
    """The records that are in the table and were not then; refused where they could not be read again."""
    table = load_table(lake, namespace, dataset)
    if takes_rows_back(table, snapshot):
        raise Refused(
            f"rows may have left {namespace}.{dataset} since then (undone, forgotten, retired), and would come back",
            data=_NOTHING,
            next_step=f"smelt maintain snapshots {namespace}.{dataset} lists later ones",
        )
    rows = rows_since(table, snapshot, "_source", "_batch")
    sources, batches = (tuple(sorted(pc.unique(rows[name]).to_pylist())) for name in ("_source", "_batch"))
    runs = [token for token in batches if not token.startswith(f"{dataset}:")]
    if runs:
        raise Refused(
            f"{runs[0]} has brought letters home since then, which no file could bring again",
            data=_NOTHING,
            next_step=f"smelt maintain snapshots {namespace}.{dataset} lists later ones",
        )
    return Leaving(rows.num_rows, sources, batches)


def rehearse(lake: Lake, namespace: str, dataset: str, to: int) -> Leaving:
    """What a rewind would take out; refused where the rewind would be. Changes nothing."""
    leaving = what_leaves(lake, namespace, dataset, find_snapshot(load_table(lake, namespace, dataset), to))
    _still_there(Books(lake.batches(dataset), lake.letter_batches(dataset)), leaving)
    return leaving


def rewind(
    lake: Lake,
    contract: Contract,
    limits: Limits,
    namespace: str,
    to: int,
    hooks: Hooks | None = None,
    spark: SparkSession | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> tuple[Leaving, Recovered]:
    """Roll one of a stream's tables back and read again what left; refused while a driver lives."""
    hooks, dataset = hooks or Hooks(), contract.dataset
    with driving(lake, dataset, hooks, role=lock.RECOVER) as pulse:
        bronze = Bronze(lake, contract, limits, Here(), hooks.reach, hooks.task_reach)
        for earlier in bronze.finish_prepared():
            pulse.committed(earlier)
        refuse_strangers(bronze)
        with ExitStack() as held:
            for name in (DEAD_LETTERS, BRONZE):  # runs over letters write to both, and take the leases in this order
                held.enter_context(lease(lake, name, dataset, f"smelt maintain rollback {namespace}", wait_seconds))
            table = load_table(lake, namespace, dataset)
            target = find_snapshot(table, to)
            leaving = what_leaves(lake, namespace, dataset, target)
            units = _still_there(bronze.books, leaving)
            _begin(bronze)
            hooks.reach("recovery_begun")
            _roll_back(table, target, dataset)
            hooks.reach("rolled_back")
        session = spark or start_spark(lake, f"smelter {dataset}", lake.run_folder(dataset))
        try:
            bronze.run_with(OnSpark(session))
            return leaving, read_again(bronze, pulse, chunks(iter(units), FILES_AT_ONCE), None)
        finally:
            if spark is None:
                session.stop()


def _roll_back(table: Table, target: Snapshot, dataset: str) -> None:
    """By now a recovery has begun: whoever is in the way, only its end lets the stream start again."""
    try:
        roll_back(table, target)
    except SmelterError as problem:
        raise Unreachable(
            problem.what,
            data="the table is as it was, but a recovery has begun, without which the stream is refused",
            next_step=f"smelt ingest {dataset} --recover, then roll back again",
        ) from problem


def _still_there(books: Books, leaving: Leaving) -> list[Unit]:
    """The files of what leaves; each must be there as it was read, or its records would be lost."""
    units: list[Unit] = []
    lost: list[Unit] = []
    for source in leaving.sources:
        reading = int(source.partition("#")[2] or 1)
        unit = unit_of(path_of(source), reading)
        is_last = books.readings_of(source.partition("#")[0]) == reading
        (units if unit == books.committed.get(source) and is_last else lost).append(unit)
    if lost:
        raise Refused(
            f"{len(lost)} of {len(leaving.sources)} files of what would leave are gone, or were written again since",
            where=lost[0].source,
            data=_NOTHING,
            next_step="bring them back to the landing folder, with the time that they had",
        )
    return units


def _begin(bronze: Bronze) -> None:
    """The record of a batch without rows, by which everybody knows that a recovery has begun and not ended."""
    tables = {name: bronze.table(name) for name in (BRONZE, DEAD_LETTERS)}
    sequence = bronze.books.next_sequence()
    intent = Intent(
        token=token_of(bronze.dataset, RECOVER, sequence, []),
        sequence=sequence,
        contract=bronze.contract.label,
        ingested_at=bronze.books.next_ingested_at(datetime.now(UTC), None),
        receipts=[],
        bronze=[],
        letters=[],
        limits=asdict(bronze.limits),
        tables={name: str(table.metadata.table_uuid) for name, table in tables.items()},
    )
    intent = bronze.records.prepare(intent)
    bronze.books.enter(intent)
    bronze.finish(intent, time.monotonic(), -1, may_be_there=False)
