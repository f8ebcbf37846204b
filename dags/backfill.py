"""By hand: take in what is missing of `{dataset}`, and build silver and gold anew if you wish.

### What it does

1. `recover` reads the landing files that arrived between *since* and *until* again, and writes those of their records
   that are in no table. Records that are there are left alone, so nothing is doubled. The stream steps aside
   meanwhile, and goes on by itself.
2. `silver` and `gold` take up what came; with *rebuild* they are built anew from all of bronze, as after a changed
   key or model.

With *dry run* the first task only says how much is missing, and the others are skipped.

### When it fails

Nothing is lost and nothing is doubled: trigger it again. `smelt stream status {dataset}` says whether the stream is
back; `smelt reconcile {dataset}` names whatever is missing.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from airflow.sdk import Param

from smelter.orchestration.building import gold_words, silver_words, tell_of_gold, tell_of_silver, unless_dry_run
from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import BY_HAND_TAG, a_dag
from smelter.orchestration.forms import recover_words, window_params
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

for dataset in datasets():
    with a_dag(
        f"backfill_{dataset.name}",
        runbook=__doc__,
        dataset=dataset,
        tags=["backfill", BY_HAND_TAG],
        params={
            **window_params(),
            "rebuild": Param(
                False, type="boolean", title="Rebuild silver and gold", description="All of them, from bronze."
            ),
            "dry_run": Param(False, type="boolean", title="Dry run", description="Only say how much is missing."),
        },
    ):
        recover = SmeltOperator(task_id="recover", words=partial(recover_words, dataset))
        steps = [recover]
        if dataset.has_silver:
            words = partial(unless_dry_run, silver_words(dataset))
            steps.append(SmeltOperator(task_id="silver", words=words, tells=tell_of_silver))
        if dataset.has_gold:
            words = partial(unless_dry_run, gold_words(dataset))
            steps.append(SmeltOperator(task_id="gold", words=words, tells=tell_of_gold))
        for before, after in pairwise(steps):
            before >> after
