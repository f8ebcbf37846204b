"""Is the table as a whole what the contract says? The same checks over all of silver, and one row per key."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from smelter.contracts import Contract
from smelter.contracts.checks import Check
from smelter.contracts.values import ONE_ROW_PER_KEY
from smelter.errors import Refused, Unreachable
from smelter.lake.home import BRONZE, SILVER, Lake
from smelter.lake.session import start_spark
from smelter.lake.tables import active_contract, find_table, load_table
from smelter.postgres import CATALOG_NAME
from smelter.quality.gate import judge
from smelter.quality.gx import warm_up
from smelter.quality.others import rows_of
from smelter.quality.records import record
from smelter.quality.verdict import Decision, Question, Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOTHING = "nothing was read or changed"


def run_checks(lake: Lake, dataset: str, spark: SparkSession | None = None) -> Verdict:
    """Judge all rows of a silver table as they are now, and record it; nothing is published or held back."""
    contract = active_contract(load_table(lake, BRONZE, dataset))
    snapshot = _snapshot(lake, contract)
    run = f"quality-{uuid.uuid4().hex[:12]}"
    with _session(lake, dataset, run, spark) as session:
        question = _question(lake, contract, run, snapshot, session)
        verdict = judge(_rows(session, dataset, snapshot), [_one_row_per_key(contract), *contract.quality], question)
    record(lake, question, verdict, Decision.MEASURED)
    return verdict


@contextmanager
def _session(lake: Lake, dataset: str, run: str, spark: SparkSession | None) -> Iterator[SparkSession]:
    """The session that is there, or one for this run, whose folder goes with it; it stays if Spark does not start."""
    if spark is not None:
        yield spark
        return
    warm_up()
    folder = lake.job_folder("quality", run)
    session = start_spark(lake, f"smelter quality {dataset}", folder, builds=True)
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _rows(spark: SparkSession, dataset: str, snapshot: int | None) -> DataFrame:
    """All passes see the same rows, whoever commits meanwhile."""
    name = f"{CATALOG_NAME}.{SILVER}.{dataset}"
    return spark.table(name) if snapshot is None else spark.read.option("versionAsOf", str(snapshot)).table(name)


def _question(lake: Lake, contract: Contract, run: str, snapshot: int | None, spark: SparkSession) -> Question:
    assert contract.silver is not None
    return Question(
        dataset=contract.dataset,
        contract=contract.label,
        scope="table",
        run=run,
        at=datetime.now(UTC),
        key=contract.silver.key,
        source=f"snapshot {snapshot}",
        others=lambda other: rows_of(lake, other, spark),
    )


def _one_row_per_key(contract: Contract) -> Check:
    """Its name is kept from contracts, so that it is always this one."""
    assert contract.silver is not None
    return Check.model_construct(name=ONE_ROW_PER_KEY, check="unique", columns=contract.silver.key)


def _snapshot(lake: Lake, contract: Contract) -> int | None:
    if contract.silver is None:
        raise Refused(
            f"{contract.label} has no silver, which is what checks are about",
            data=_NOTHING,
            next_step=f"add `silver: {{key: […]}}` to the contract, then: smelt contract apply {contract.dataset}",
        )
    silver = find_table(lake, SILVER, contract.dataset)
    if silver is None:
        raise Unreachable(
            f"there is no table {SILVER}.{contract.dataset} yet",
            where=str(lake.root),
            data=_NOTHING,
            next_step=f"smelt silver {contract.dataset}",
        )
    return silver.metadata.current_snapshot_id
