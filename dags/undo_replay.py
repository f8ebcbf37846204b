"""By hand: a replay, an edit or a discarding of dead letters is taken back, once a person has seen what that means.

### What it does

1. `plan` says what would be taken back: how many letters would be open again. It changes nothing.
2. `approve` shows that and waits for a person: *Required Actions*, on Airflow's home page. **Approve** goes on;
   **Reject** ends the run well with nothing done, and so do seven days without an answer.
3. `undo` opens the letters again and takes the rows that came of them out of bronze, then builds silver and gold: a key
   that loses its row gets the next record of bronze that has it. *Because* is kept in the history of the letters.

With *dry run* only `plan` runs. The name of a run, `replay:20260101-120000-0a1b`, is in the last line of the log of
`replay`, and `smelt dlq runs` lists all.

### When it fails

- **`plan` refuses**: there is no such run, it was undone already, or a later run has done something with its letters
  since; the log names that run, which has to be undone first.
- **`undo` fails**: nothing is lost, and a record may be seen twice for a moment but never not at all. Clear the task:
  it finishes what was begun. If the letters are open and only silver or gold failed, `smelt silver DATASET` and
  `smelt gold DATASET` go on, and so do their own DAGs.
- `smelt reconcile DATASET` proves that every record is in exactly one place.
"""

from __future__ import annotations

from smelter.orchestration.approval import ApproveOperator
from smelter.orchestration.factory import A_PERSON_WAITS, BY_HAND_TAG, RUNS_THAT_WAIT, STREAMS_POOL, a_dag
from smelter.orchestration.forms import undo_params
from smelter.orchestration.letters import (
    ABOUT_UNDO,
    ask_about_undo,
    plan_undo_words,
    tell_of_undo,
    tell_of_undo_plan,
    undo_words,
)
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

with a_dag(
    "undo_replay",
    runbook=__doc__,
    tags=["dead_letters", BY_HAND_TAG],
    max_active_runs=RUNS_THAT_WAIT,
    task_options={"priority_weight": A_PERSON_WAITS},
    params=undo_params(),
):
    # It starts no JVM, so it need not wait behind those that do.
    plan = SmeltOperator(
        task_id="plan", pool=STREAMS_POOL, words=plan_undo_words, tells=tell_of_undo_plan, keeps=ask_about_undo
    )
    approve = ApproveOperator(task_id="approve", plan="plan", about=ABOUT_UNDO)
    undo = SmeltOperator(task_id="undo", words=undo_words, tells=tell_of_undo)
    plan >> approve >> undo
