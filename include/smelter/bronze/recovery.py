"""What a person asks for: read a rewritten file as a new source, or account for everything anew from the tables.

Both are batches like any other: safe to kill, and to ask for again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.books import RECOVER, REREAD
from smelter.bronze.spread import Here, OnSpark
from smelter.bronze.stream import Hooks, driving
from smelter.bronze.trust import drop_strangers, newest_tokens, refuse_strangers
from smelter.bronze.work import Present
from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.lake.batches import Intent, Receipt, Unit, token_of
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.identities import (
    arrivals_of,
    counts_by_source,
    letters_about_files,
    newest_moment,
    positions_of,
)
from smelter.lake.landing import is_in_finished_place
from smelter.lake.session import start_spark
from smelter.lake.sources import arrival_of, source_of, unit_of
from smelter.records import Limits
from smelter.records.survey import files_under

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES_AT_ONCE = 200  # a condition on more names than this does not choose among data files


@dataclass(frozen=True)
class Recovered:
    """What a recovery did: files read again, records that were missing and are written now, sources without a file."""

    files: int
    records: int
    written: int
    gone: int


def reread(lake: Lake, contract: Contract, limits: Limits, file: Path, hooks: Hooks | None = None) -> Report:
    """Take a file that was written again as a new source, whole; its first reading stays as it is."""
    hooks = hooks or Hooks()
    with driving(lake, contract.dataset, hooks) as pulse:
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
) -> Recovered:
    """Read every landing file again and write only records whose identity is in neither table; then new receipts."""
    hooks = hooks or Hooks()
    with driving(lake, contract.dataset, hooks) as pulse:
        bronze = Bronze(lake, contract, limits, Here(), hooks.reach, hooks.task_reach)
        bronze.books.waiting = drop_strangers(bronze)
        for earlier in bronze.finish_prepared():
            pulse.committed(earlier)
        session = spark or start_spark(lake, f"smelter {contract.dataset}", lake.run_folder(contract.dataset))
        try:
            bronze.run_with(OnSpark(session))
            reports, present = [], 0
            for units in _chunks(_landed(bronze), files_at_once):
                report, were_there = _recover(bronze, units)
                present += were_there
                if report is not None:
                    reports.append(report)
                    pulse.committed(report)
            gone = _settle(bronze)
        finally:
            if spark is None:
                session.stop()
        new = sum(one.accepted + one.dead for one in reports) - present
        return Recovered(sum(one.files for one in reports), sum(one.records for one in reports), new, gone)


def _landed(bronze: Bronze) -> Iterator[Unit]:
    """Every landing file under the name of its last reading."""
    landing = bronze.lake.landing(bronze.contract)
    known = _sources_in(bronze)
    for path in files_under(landing):
        if path.is_file() and path.stat().st_size and is_in_finished_place(path, landing):
            reading = 1
            while source_of(path, reading + 1) in known:
                reading += 1
            yield unit_of(path, reading)


def _sources_in(bronze: Bronze) -> dict[str, int]:
    """Every source that either table holds, with its records."""
    counts: dict[str, int] = {}
    for namespace in (BRONZE, DEAD_LETTERS):
        for source, count in counts_by_source(bronze.table(namespace)).items():
            counts[source] = counts.get(source, 0) + count
    return counts


def _recover(bronze: Bronze, landed: Sequence[Unit]) -> tuple[Report | None, int]:
    """One batch of files, and how many of their records were there already.

    A file that was written again since is left as the tables have it: what it holds now is for `--reread`, and `status`
    names it.
    """
    closed = _closed(bronze, landed)
    units = [unit for unit in landed if unit.source not in closed]
    sources = [unit.source for unit in units]
    held = {name: positions_of(bronze.table(name), sources) for name in (BRONZE, DEAD_LETTERS)}
    nothing = np.empty(0, np.int64)
    about = letters_about_files(bronze.table(DEAD_LETTERS), sources)
    present = {
        source: Present(held[BRONZE].get(source, nothing), held[DEAD_LETTERS].get(source, nothing), about.get(source))
        for source in sources
    }
    report = bronze.take_in(units, RECOVER, bronze.books.next_sequence(), present)
    return report, sum(len(one.bronze) + len(one.letters) for one in present.values())


def _closed(bronze: Bronze, units: Sequence[Unit]) -> set[str]:
    """Sources whose file is not what the tables have of them."""
    sources = [unit.source for unit in units]
    closed = set()
    for name in (BRONZE, DEAD_LETTERS):
        arrivals = arrivals_of(bronze.table(name), sources)
        closed |= {
            unit.source
            for unit in units
            if unit.source in arrivals and arrivals[unit.source] != arrival_of(unit.modified_ns)
        }
    return closed


def _settle(bronze: Bronze) -> int:
    """The last record of a recovery: receipts for sources without a file, from the tables, and the end of all gaps."""
    tables = {name: bronze.table(name) for name in (BRONZE, DEAD_LETTERS)}
    counts = {name: counts_by_source(table) for name, table in tables.items()}
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


def _chunks(units: Iterator[Unit], size: int) -> Iterator[list[Unit]]:
    while chunk := list(islice(units, size)):
        yield chunk
