"""The stream that puts arriving records of `{dataset}` into bronze, and the bad ones into dead letters.

### What it does

A driver of its own, which nobody in Airflow owns, follows the landing folder. The task `stream` starts it or finds
it, and watches it; it takes up no worker. A run lasts a day, then the next one finds the driver at work. Where the
contract says `source: {every: 15m}`, there is no driver: the task `drain` takes what has arrived, on that timetable.

### What the buttons do to the stream

| button | the stream |
|---|---|
| **Pause** the DAG | goes on; but if its driver ends, nobody starts it again |
| **Clear** the task | its driver finishes the running batch and ends, another one starts |
| **Mark success**, **Mark failed** | the same; Airflow starts the next run at once |
| Pause, then mark success | ends, and stays ended until the DAG is un-paused |

Better: `smelt stream pause {dataset}` lets it rest and `resume` lets it go on; `smelt stream stop {dataset}` ends it
and keeps it ended, whatever Airflow does, until `smelt stream start {dataset}`. The task's log says which, by whom
and why.

### When it fails

Nothing is lost: the next start finishes what was begun. The task is tried again by itself, five times a run, with
growing pauses; after three failed runs in a row the DAG pauses itself. Look at the last lines of the task's log,
then:

1. `smelt stream status {dataset}` and `smelt stream logs {dataset}` say what the driver said last.
2. `smelt doctor` says what is wrong with the machine; a full disk is the usual reason.
3. Mend it, un-pause the DAG, and `smelt reconcile {dataset}` proves that every record is in exactly one place.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DeltaTriggerTimetable

from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import STREAMS_POOL, a_dag
from smelter.orchestration.notice import on_failure
from smelter.orchestration.smelt_operator import SmeltOperator
from smelter.orchestration.stream_operator import StreamOperator

assert __doc__

for dataset in datasets():
    if dataset.every is None:
        with a_dag(
            f"bronze_{dataset.name}",
            runbook=__doc__,
            dataset=dataset,
            tags=["bronze"],
            schedule="@continuous",
            max_consecutive_failed_dag_runs=3,
            task_options={
                "retries": 5,
                "retry_delay": timedelta(seconds=5),
                "max_retry_delay": timedelta(seconds=20),
                "pool": STREAMS_POOL,
                "on_retry_callback": on_failure,
            },
        ):
            StreamOperator(task_id="stream", dataset=dataset.name)
    else:
        with a_dag(
            f"bronze_{dataset.name}",
            runbook=__doc__,
            dataset=dataset,
            tags=["bronze"],
            schedule=DeltaTriggerTimetable(dataset.every),
        ):
            SmeltOperator(task_id="drain", words=["ingest", dataset.name, "--drain", "--if-wanted"])
