"""One way to make a DAG, so that every DAG keeps the rules: owner, tags, runbook, retries, pool, past start date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pendulum
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from smelter.orchestration.datasets import Dataset
from smelter.orchestration.notice import on_failure

OWNER = "smelter"
# Always in the past: a `@continuous` DAG without a start date runs once and never again, and says nothing.
START_DATE = pendulum.datetime(2026, 1, 1, tz="UTC")
SPARK_POOL = "spark"  # tasks that start a JVM of their own
STREAMS_POOL = "streams"  # drivers of streams, which live beside them
PLATFORM_TAG = "platform"
BY_HAND_TAG = "by_hand"
A_PERSON_WAITS = 10  # a task's weight in its pool: before builds, which come again by themselves
AFTER_BUILDS = 0  # what can wait until nobody builds
RUNS_THAT_WAIT = 16  # for people, of one DAG; the commands themselves see to it that only one of them writes


def a_dag(
    dag_id: str,
    *,
    runbook: str,
    tags: Sequence[str],
    schedule: Any = None,
    dataset: Dataset | None = None,
    task_options: Mapping[str, Any] | None = None,
    max_active_runs: int = 1,
    **options: Any,
) -> DAG:
    """A DAG of the platform; `runbook` is its file's own text, about the dataset that it names."""
    retrying = {
        "retries": 2,
        "retry_delay": timedelta(seconds=30),
        "retry_exponential_backoff": 2,
        "max_retry_delay": timedelta(minutes=10),
    }
    return DAG(
        dag_id=dag_id,
        doc_md=_runbook(runbook, dataset),
        description=runbook.strip().splitlines()[0].replace("{dataset}", dataset.name if dataset else ""),
        tags=[*tags, dataset.name if dataset else PLATFORM_TAG],
        schedule=schedule,
        start_date=START_DATE,
        catchup=False,
        max_active_runs=max_active_runs,
        default_args={
            "owner": OWNER,
            "pool": SPARK_POOL,
            "on_failure_callback": on_failure,
            **retrying,
            **(task_options or {}),
        },
        **options,
    )


def fails_with(*tasks: Any) -> None:
    """Let the run fail if one of them does.

    Airflow looks at the last tasks only: one that runs after others whether they went well or not hides their failure.
    It starts no process for this.
    """
    list(tasks) >> EmptyOperator(task_id="outcome", trigger_rule="none_failed")


def _runbook(text: str, dataset: Dataset | None) -> str:
    if dataset is None:
        return text
    problem = f"\n\n**The contract cannot be read:** {dataset.problem}\n" if dataset.problem else ""
    about = f"\n\n*{dataset.name}*: {dataset.about}\n" if dataset.about else ""
    return text.replace("{dataset}", dataset.name) + about + problem
