"""Gold of `{dataset}`: the answers, of which only the windows that changed are computed again.

### What it does

Brings every gold table that has `silver.{dataset}` as its source up to date. Airflow runs it after every run of
silver that went well, and at least every few minutes (`build_minutes` of the settings). A run without anything new
costs a second.

### When it fails

If one table fails, the others are built all the same, and the log names it. A second run is harmless: nothing is
counted twice.

- **A model is wrong**: mend its file in `include/models`; docs/gold.md tells how one is written.
- **Old answers look wrong**: trigger `backfill_{dataset}` with *rebuild*, which computes every window again.
- Anything else is tried again by itself. `smelt status {dataset}` says how far each table is behind.
"""

from __future__ import annotations

from smelter.orchestration.building import every_minutes, gold_words, tell_of_gold
from smelter.orchestration.commits import silver_asset
from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import a_dag
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

for dataset in datasets():
    if dataset.has_gold:
        with a_dag(
            f"gold_{dataset.name}",
            runbook=__doc__,
            dataset=dataset,
            tags=["gold"],
            schedule=every_minutes(silver_asset(dataset)),
        ):
            SmeltOperator(task_id="build", words=gold_words(dataset), tells=tell_of_gold)
