"""Silver of `{dataset}`: each thing once, judged before it is published.

### What it does

Reads what came into bronze since its last run, keeps one row per key, judges those rows by the contract's `quality:`
list and merges them in one commit. Airflow runs it when the stream has committed something (one run for many
commits), and at least every few minutes (`build_minutes` of the settings). A run without anything new costs a second.

The checks and their outcome are in the task's log, and in its XCom; `smelt quality history {dataset}` has all of
them.

### When it fails

- **A check says stop** (exit code 1): nothing was published, no row is lost, and the same rows are judged again with
  the next run. The log names the check, how many rows, and which. Mend the cause or the check (`smelt contract plan
  {dataset}`); or publish in spite of it, which is recorded: `smelt silver {dataset} --publish-anyway "WHY"`.
- **It wants a rebuild** (the key or the rules of silver changed): trigger `backfill_{dataset}` with *rebuild*.
- **Somebody else changes the table**: it waits ten minutes, then fails; the next run goes on.
- Anything else is tried again by itself. `smelt status {dataset}` says how far silver is behind.
"""

from __future__ import annotations

from functools import partial

from smelter.orchestration.building import every_minutes, silver_words, tell_of_silver
from smelter.orchestration.commits import bronze_asset, silver_asset, take_up
from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import a_dag
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

for dataset in datasets():
    if dataset.has_silver:
        with a_dag(
            f"silver_{dataset.name}",
            runbook=__doc__,
            dataset=dataset,
            tags=["silver"],
            schedule=every_minutes(bronze_asset(dataset)),
        ):
            SmeltOperator(
                task_id="build",
                words=silver_words(dataset),
                begins=partial(take_up, dataset.folder),
                tells=tell_of_silver,
                outlets=[silver_asset(dataset)],
            )
