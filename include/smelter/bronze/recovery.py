"""What a person asks for: read a rewritten file as a new source, or account for everything anew from the tables.

Both are batches like any other: safe to kill, and to ask for again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.books import RECOVER_PART, REREAD
from smelter.bronze.landed import Window, chunks, landed, open_to_reading, present_of
from smelter.bronze.pulse import Pulse
from smelter.bronze.spread import Here, OnSpark
from smelter.bronze.stream import Hooks, driving
from smelter.bronze.trust import drop_strangers, newest_tokens, refuse_a_part, refuse_strangers
from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.lake.batches import Intent, Receipt, Unit, token_of
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.identities import counts_by_source, newest_moment
from smelter.lake.landing import is_in_finished_place
from smelter.lake.lease import lease
from smelter.lake.recoveries import RECOVER
from smelter.lake.resolutions import resolved
from smelter.lake.session import start_spark
from smelter.lake.sources import source_of, unit_of
from smelter.records import Limits
from smelter.supervise import lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OTHERS_SECONDS = 600.0  # a compaction or a forgetting may take some minutes
FILES_AT_ONCE = 200  # a condition on more names than this does not choose among data files


@dataclass(frozen=True)
class Recovered:
    """What a recovery did: files read again, records that were missing and are written now, sources without a file
    that says the same."""

    files: int
    records: int
    written: int
    gone: int


def reread(lake: Lake, contract: Contract, limits: Limits, file: Path, hooks: Hooks | None = None) -> Report:
    """Take a file that was written again as a new source, whole; its first reading stays as it is."""
    hooks = hooks or Hooks()
    with driving(lake, contract.dataset, hooks, role=lock.REREAD) as pulse:
        bronze = Bronze(lake, contract, limits, Here(), hooks.reach, hooks.task_reach)
        for earlier in bronze.finish_prepared():
            pulse.committed(earlier)
        refuse_strangers(bronze)
        bronze.books.forget_asked()
        unit = _next_reading(bronze, file.resolve())
        report = bronze.take_in([unit], REREAD, bronze.books.next_sequence())
        assert report is not None
        pulse.committed(report)
        return report


def _next_reading(bronze: Bronze, file: Path) -> Unit:
    landing = bronze.lake.landing(bronze.contract)
    nothing = "nothing was read or changed"
    if not file.is_file() or not file.is_relative_to(landing) or not is_in_finished_place(file, landing):
        raise Refused(f"{file} is not a file of {landing}", data=nothing, next_step="name a file of the landing folder")
    readings = bronze.books.readings_of(source_of(file))
    if readings == 0:
        command = f"smelt ingest {bronze.dataset} --drain"
        raise Refused(f"{file} has not been read yet", data=nothing, next_step=f"{command} takes it as it is")
    unit, last = unit_of(file, readings + 1), bronze.books.committed[source_of(file, readings)]
    if (unit.length, unit.modified_ns) == (last.length, last.modified_ns):
        raise Refused(f"{file} is in the tables as it is now", where=last.source, data=nothing)
    return unit


def recover(
    lake: Lake,
    contract: Contract,
    limits: Limits,
    hooks: Hooks | None = None,
    spark: SparkSession | None = None,
    files_at_once: int = FILES_AT_ONCE,
    window: Window | None = None,
) -> Recovered:
    """Read every landing file again and write only records whose identity is in neither table; then new receipts.

    With a window, only files that arrived in it: receipts of others stay as they are. Nothing is settled then, so it is
    for a stream whose records of batches are whole; each of its batches is right by itself, also if it is the last.
    """
    hooks = hooks or Hooks()
    with driving(lake, contract.dataset, hooks, role=lock.RECOVER) as pulse:
        bronze = Bronze(lake, contract, limits, Here(), hooks.reach, hooks.task_reach)
        _let_others_end(bronze)
        _catch_up(bronze, pulse, window)
        files = landed(bronze, window)
        first = next(files, None)
        if first is None and window is not None:
            return Recovered(0, 0, 0, 0)
        session = spark or start_spark(lake, f"smelter {contract.dataset}", lake.run_folder(contract.dataset))
        try:
            bronze.run_with(OnSpark(session))
            units = chunks(chain([first] if first is not None else [], files), files_at_once)
            return read_again(bronze, pulse, units, window)
        finally:
            if spark is None:
                session.stop()


def _let_others_end(bronze: Bronze) -> None:
    """Whoever lets rows leave looks, with the lease in hand, for a driver that recovers, and then does not begin."""
    with lease(bronze.lake, BRONZE, bronze.dataset, f"smelt ingest {bronze.dataset} --recover", _OTHERS_SECONDS):
        pass


def _catch_up(bronze: Bronze, pulse: Pulse, window: Window | None) -> None:
    """Finish what an earlier driver left. Only a whole recovery may forget what cannot be finished."""
    if window is None:
        bronze.books.waiting = drop_strangers(bronze)
    for earlier in bronze.finish_prepared():
        pulse.committed(earlier)
    if window is not None:
        refuse_a_part(bronze)


def read_again(bronze: Bronze, pulse: Pulse, chunks: Iterator[list[Unit]], window: Window | None) -> Recovered:
    """Batch after batch; a file that was written again since is left as the tables have it, and `status` names it."""
    files = records = written = left = 0
    for units in chunks:
        fresh = open_to_reading(bronze, units)
        present = present_of(bronze, fresh)
        origin = RECOVER if window is None else RECOVER_PART
        report = bronze.take_in(fresh, origin, bronze.books.next_sequence(), present)
        left += len(units) - len(fresh)
        if report is not None:
            pulse.committed(report)
            files, records = files + report.files, records + report.records
            were_there = sum(len(one.bronze) + len(one.letters) for one in present.values())
            written += report.accepted + report.dead - were_there
    return Recovered(files, records, written, _settle(bronze) if window is None else left)


def _settle(bronze: Bronze) -> int:
    """The last record of a recovery: receipts for sources without a file, from the tables, and the end of all gaps."""
    tables = {name: bronze.table(name) for name in (BRONZE, DEAD_LETTERS)}
    counts = {name: counts_by_source(table) for name, table in tables.items()}
    closed = resolved(bronze.lake, bronze.dataset)
    counts[DEAD_LETTERS] = closed.standing_in(tables[DEAD_LETTERS], tables[BRONZE], counts[DEAD_LETTERS])
    gone = sorted((counts[BRONZE].keys() | counts[DEAD_LETTERS].keys()) - bronze.books.committed.keys())
    receipts = []
    for source in gone:
        accepted, dead = counts[BRONZE].get(source, 0), counts[DEAD_LETTERS].get(source, 0)
        receipts.append(Receipt(Unit(source, 0, 0), "", accepted + dead, accepted, dead, is_whole=False))
    units = [receipt.unit for receipt in receipts]
    sequence = bronze.books.next_sequence()
    newest = max((moment for table in tables.values() if (moment := newest_moment(table))), default=None)
    intent = Intent(
        token=token_of(bronze.dataset, RECOVER, sequence, units),
        sequence=sequence,
        contract=bronze.contract.label,
        ingested_at=bronze.books.next_ingested_at(datetime.now(UTC), newest),
        receipts=receipts,
        bronze=[],
        letters=[],
        limits=asdict(bronze.limits),
        tables={name: str(table.metadata.table_uuid) for name, table in tables.items()},
        settles=[*newest_tokens(bronze), "recovered"],
        gaps=bronze.books.missing_sequences(),
    )
    bronze.finish(bronze.records.prepare(intent), time.monotonic(), -1, may_be_there=False)
    return len(gone)
