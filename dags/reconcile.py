"""Proves every day that each record is in exactly one place, bronze or dead letters.

### What it does

Airflow runs one task per dataset, which counts the sources again, with code that the stream does not use, and
compares. A dataset that nothing has been ingested for yet is in order.

### When it fails

It names what is missing or doubled: source, position and batch, in the task's log. This is the platform's promise, so
look at once:

1. Files *waiting* are no failure. `smelt stream status` says whether the stream runs.
2. `smelt trace --where "…"` follows one record; `smelt reconcile DATASET --json` has every finding.
3. Records that are missing come back with `backfill_DATASET` (it writes only what is in no table).
"""

from __future__ import annotations

from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import a_dag
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

with a_dag("reconcile", runbook=__doc__, tags=["proof"], schedule="0 4 * * *"):
    for dataset in datasets():
        SmeltOperator(task_id=dataset.name, words=["reconcile", dataset.name, "--if-there"])
