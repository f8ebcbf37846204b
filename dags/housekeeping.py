"""Keeps Airflow's own database and logs from growing for ever.

### What it does

Every night: rows of Airflow's database about runs that are older than *keep days*, and log files that were last
written before then, are removed. The newest run of each DAG stays. The lake is not touched: this is about Airflow's
own memory only.

### When it fails

Nothing depends on it; the next night removes what this one left. If the database is locked for long, pause the
busiest DAGs and trigger it again.
"""

from __future__ import annotations

from airflow.sdk import Param, task

from smelter.orchestration.factory import a_dag

assert __doc__

with a_dag(
    "housekeeping",
    runbook=__doc__,
    tags=["housekeeping"],
    schedule="30 3 * * *",
    params={"keep_days": Param(30, type="integer", minimum=1, maximum=3650, title="Keep days")},
):

    @task
    def database(params: dict[str, int]) -> None:
        """Remove old rows."""
        from smelter.orchestration.housekeeping import clean_database

        clean_database(int(params["keep_days"]))

    @task
    def logs(params: dict[str, int]) -> int:
        """Remove old files."""
        from smelter.orchestration.housekeeping import clean_logs

        return clean_logs(int(params["keep_days"]))

    database()
    logs()
