"""Great Expectations judges the measures: one row, one column and one expectation for each check, on pandas.

The only module that imports it, which costs three to four seconds of a processor: see `warm_up`.
"""

from __future__ import annotations

import gc
import json
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from smelter.contracts.checks import Check
from smelter.errors import Unreachable
from smelter.quality.measure import Measure
from smelter.quality.verdict import Question
from smelter.quality.words import bounds, wanted

_SEVERITIES = {"stop": "critical", "warn": "warning"}


@dataclass(frozen=True)
class Judged:
    """The names of the checks that hold, and the whole result as Great Expectations itself reads it again."""

    good: frozenset[str]
    validation: str


def warm_up() -> threading.Thread:
    """Import Great Expectations beside whatever else is to be done, such as starting Spark; nobody need wait for it."""
    thread = threading.Thread(target=_import, name="great-expectations", daemon=True)
    thread.start()
    return thread


def expect(checks: Sequence[Check], measures: Sequence[Measure], question: Question) -> Judged:
    """What Great Expectations says of these measures, one for each check and in the same order."""
    gx = _import()
    import pandas

    names = [check.name for check in checks]
    frame = pandas.DataFrame([[one.found for one in measures]], columns=names, dtype="float64")
    with quiet():
        suite = gx.ExpectationSuite(name=question.dataset, expectations=[_expectation(gx, check) for check in checks])
        asset = new_context().data_sources.add_pandas(question.scope).add_dataframe_asset(f"silver.{question.dataset}")
        batch = asset.add_batch_definition_whole_dataframe(question.run).get_batch({"dataframe": frame})
        result = batch.validate(suite)
    _refuse_unjudged(result)
    result.meta["run_id"] = {"run_name": question.run, "run_time": question.at.isoformat()}
    good = frozenset(one.expectation_config.kwargs["column"] for one in result.results if one.success)
    return Judged(good, json.dumps(result.to_json_dict(), default=float, ensure_ascii=False))


def new_context() -> Any:
    """A context in memory that asks nobody, counts nothing and draws no bar."""
    gx = _import()
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    defaults = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)  # no report but the lake's
    bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    words = DataContextConfig(store_backend_defaults=defaults, progress_bars=bars, analytics_enabled=False)
    return gx.get_context(mode="ephemeral", project_config=words)


@contextmanager
def quiet() -> Iterator[None]:
    """Its own warnings are about itself: they must not reach whoever reads about data."""
    with warnings.catch_warnings(action="ignore"):
        yield


def _import() -> Any:
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    # Said while it is imported, perhaps in a thread: filters that are put back are not for threads.
    warnings.filterwarnings("ignore", message="module 'sre_", category=DeprecationWarning)
    with _no_collection():
        import great_expectations
        import great_expectations.expectations

    return great_expectations


@contextmanager
def _no_collection() -> Iterator[None]:
    """What an import makes, stays: looking for garbage in it is a sixth of the cost (3.2 CPU-s, and 2.7 without)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _expectation(gx: Any, check: Check) -> Any:
    low, high = bounds(check)
    return gx.expectations.ExpectColumnMaxToBeBetween(
        column=check.name,
        min_value=low,
        max_value=high,
        severity=_SEVERITIES[check.on_failure],
        description=wanted(check),
        meta={"check": check.check, "on_failure": check.on_failure},
    )


def _refuse_unjudged(result: Any) -> None:
    for one in result.results:
        if one.exception_info and one.exception_info.get("raised_exception"):
            raise Unreachable(
                f"Great Expectations could not judge: {one.exception_info.get('exception_message')}",
                data="nothing was published, and no bookmark moved",
                next_step="smelt doctor",
            )
