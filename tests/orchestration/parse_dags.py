"""Parses a folder of DAG files as Airflow does, and prints one line of JSON about it. Usage: FOLDER [no MODULE …]"""

from __future__ import annotations

import builtins
import json
import sys
import time
from typing import Any

HEAVY = ("pyspark", "pyiceberg", "great_expectations", "duckdb", "pyarrow", "pandas", "boto3")
absent = {*sys.argv[3:]}
real_import = builtins.__import__


def without_absent(name: str, *rest: Any, **more: Any) -> Any:
    if name.partition(".")[0] in absent:
        raise ModuleNotFoundError(f"No module named {name!r} (taken away by the test)")
    return real_import(name, *rest, **more)


builtins.__import__ = without_absent
from airflow.dag_processing.dagbag import DagBag  # noqa: E402
from airflow.sdk.definitions.mappedoperator import MappedOperator  # noqa: E402


def task(one: Any) -> dict[str, Any]:
    return {
        "kind": one.task_type,
        "owner": one.owner,
        "pool": one.pool,
        "retries": one.retries,
        "backoff": one.retry_exponential_backoff,
        "timeout": None if one.execution_timeout is None else one.execution_timeout.total_seconds(),
        "notice": bool(one.on_failure_callback),
        "after": sorted(one.upstream_task_ids),
        "templates": sorted(one.template_fields),
        "is_mapped": isinstance(one, MappedOperator),
        "name_of_each": one.map_index_template,
        "most_at_a_time": one.max_active_tis_per_dagrun,
        "rule": one.trigger_rule.value,
        "weight": [one.priority_weight, str(one.weight_rule)],
        "patience": None if (waits := getattr(one, "response_timeout", None)) is None else waits.total_seconds(),
        "without_answer": getattr(one, "defaults", None),
    }


def dag(one: Any) -> dict[str, Any]:
    return {
        "schedule": type(one.timetable).__name__,
        "cron": getattr(one.timetable, "expression", None),
        "start": None if one.start_date is None else one.start_date.isoformat(),
        "catchup": one.catchup,
        "max_active_runs": one.max_active_runs,
        "most_failures": one.max_consecutive_failed_dag_runs,
        "tags": sorted(one.tags),
        "doc": one.doc_md or "",
        "description": one.description or "",
        "params": {name: one.params.get_param(name).schema for name in one.params},
        "timeout": None if one.dagrun_timeout is None else one.dagrun_timeout.total_seconds(),
        "file": one.fileloc.rsplit("/", 1)[-1],
        "tasks": {item.task_id: task(item) for item in one.tasks},
    }


before = set(sys.modules)
began = time.process_time()
bag = DagBag(sys.argv[1])
seconds = time.process_time() - began
print(
    json.dumps(
        {
            "dags": {name: dag(one) for name, one in bag.dags.items()},
            "errors": bag.import_errors,
            "cpu_seconds": seconds,
            "heavy": sorted(name for name in HEAVY if name in sys.modules and name not in before),
        }
    )
)
