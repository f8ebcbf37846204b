"""Gold is brought up to date: each table in one commit, which also says how far silver was read.

Safe to kill anywhere and to repeat: before its commit a table is as it was, and after it the bookmark in the commit
says that there is nothing more to do. One run at a time builds a table: it holds the table's lease.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smelter.contracts import Contract
from smelter.errors import SmelterError
from smelter.gold.answers import Tally
from smelter.gold.compute import Work, compute, summary_of
from smelter.gold.engine import Engine
from smelter.gold.models import Model
from smelter.gold.plan import Plan, Step, find_silver, plan_of
from smelter.lake.derived import move_bookmark
from smelter.lake.home import GOLD, Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, Lease, lease
from smelter.lake.session import jvm_of
from smelter.lake.tables import find_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Built:
    """What became of one gold table."""

    table: str
    step: Step
    why: str
    written: int = 0  # rows that are new or not as they were
    removed: int = 0
    windows: int | None = None  # that were computed
    seconds: float = 0.0


@dataclass(frozen=True)
class Failed:
    """One gold table that is as it was, and why."""

    table: str
    problem: SmelterError


@dataclass(frozen=True)
class GoldReport:
    """What became of the gold tables of one dataset."""

    dataset: str
    built: tuple[Built, ...]
    failed: tuple[Failed, ...]
    seconds: float


@dataclass(frozen=True)
class Hooks:
    """Who is told what happens."""

    say: Callable[[str], None] = lambda _line: None
    reach: Callable[[str], None] = lambda _point: None  # named points, for those who break things there


_NO_HOOKS = Hooks()


def build_gold(
    lake: Lake,
    contract: Contract,
    models: Iterable[Model],
    *,
    rebuild: bool = False,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    hooks: Hooks = _NO_HOOKS,
    spark: SparkSession | None = None,
) -> GoldReport:
    """Bring every model of the dataset up to date; where one fails, the others are built all the same.

    `spark`: a session that runs already; otherwise one is started, and only if there is something to compute.
    """
    started = time.monotonic()
    built: list[Built] = []
    failed: list[Failed] = []
    find_silver(lake, contract.dataset)
    with ExitStack() as leases, Engine(lake, spark) as engine:  # the JVM is gone before a lease is given back
        for model in sorted((one for one in models if one.dataset == contract.dataset), key=lambda one: one.name):
            try:
                what = f"smelt gold {model.dataset}"
                held = leases.enter_context(lease(lake, GOLD, model.name, what, wait_seconds, hooks.say))
                built.append(_build(_Job(lake, contract, model, engine, held, hooks), rebuild=rebuild))
            except SmelterError as problem:
                failed.append(Failed(f"{GOLD}.{model.name}", problem))
    return GoldReport(contract.dataset, tuple(built), tuple(failed), time.monotonic() - started)


@dataclass(frozen=True)
class _Job:
    """One table to be brought up to date, and what that takes."""

    lake: Lake
    contract: Contract
    model: Model
    engine: Engine
    held: Lease
    hooks: Hooks


def _build(job: _Job, *, rebuild: bool) -> Built:
    """Read both histories, and do what there is to do."""
    started = time.monotonic()
    model = job.model
    silver, gold = find_silver(job.lake, model.dataset), find_table(job.lake, GOLD, model.name)
    plan = plan_of(model, job.contract, silver, gold, rebuild=rebuild)
    done = Tally()
    if plan.step is Step.BOOKMARK:
        assert gold is not None
        move_bookmark(gold, summary_of(plan))
    elif plan.step in (Step.WINDOWS, Step.WHOLE):
        job.hooks.say(f"{GOLD}.{model.name}: {_doing(plan)}")
        spark = job.engine.session(job.lake.job_folder(GOLD, model.name))
        job.held.share_with(jvm_of(spark))
        started = time.monotonic()  # the start of Spark is nobody's cost
        done = compute(Work(spark, job.lake, job.contract, model, plan, job.hooks.reach, job.engine.log))
        job.hooks.reach("committed")
    seconds = time.monotonic() - started
    return Built(f"{GOLD}.{model.name}", plan.step, plan.why, done.written, done.removed, done.windows, seconds)


def _doing(plan: Plan) -> str:
    if plan.step is Step.WHOLE:
        return f"computing all of it ({plan.why})"
    return f"computing the windows that rows of silver touch, in {plan.behind:,} of its snapshots"
