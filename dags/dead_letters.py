"""Every night: letters that pass by now go home where their contract asks for it, and closed ones go in their time.

### What it does

Airflow runs two tasks per dataset, one after the other, each of which does what the active contract says:

| contract | task | what |
|---|---|---|
| `dead_letters: {auto_replay: true}` | `replay_DATASET` | what passes now goes to bronze; the rest stays untouched |
| `dead_letters: {keep: 90d}` | `retire_DATASET` | letters that were closed longer ago than that are removed |

Without these words a task says so and ends well, within seconds. A letter that is open is never removed. Nobody is
asked here, because the contract has answered: for a replay that a person sees first, trigger `replay_dead_letters`.

### When it fails

Nothing is lost and nothing is doubled, and the next night goes on; a dataset harms no other.

- **Somebody else changes the letters**: it waits ten minutes, then fails; clear the task.
- **It brought home what it should not have**: `smelt dlq runs DATASET` names the run, and `undo_replay` takes it back.
  Take `auto_replay` out of the contract first (`smelt contract apply DATASET`), or the next night does it again.
- Anything else is tried again by itself. `smelt dlq ls DATASET` lists what is open.
"""

from __future__ import annotations

from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import a_dag
from smelter.orchestration.letters import auto_replay_words, retire_words
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

with a_dag("dead_letters", runbook=__doc__, tags=["dead_letters"], schedule="30 2 * * *"):
    for dataset in datasets():
        replay = SmeltOperator(task_id=f"replay_{dataset.name}", words=auto_replay_words(dataset))
        retire = SmeltOperator(task_id=f"retire_{dataset.name}", words=retire_words(dataset))
        replay >> retire
