"""By hand: dead letters that are good by now go home to bronze, once a person has seen the plan and said yes.

### What it does

1. `plan` judges the open letters that the form means, under the contract that is active, and writes nothing. How many
   would pass, why others would not and what would help is in its log and in its XCom.
2. `approve` shows that plan and waits for a person: *Required Actions*, on Airflow's home page. **Approve** goes on;
   **Reject** ends the run well without a replay, and so do seven days without an answer. If no letter would pass,
   nobody is asked, and the rest is skipped.
3. `replay` judges the same letters once more, under the contract that is active then; the good ones go to bronze, the
   others stay open, with one more attempt in their history. It works beside the stream. Letters that were written after
   the form was filled in are not meant. Silver and gold take the rows up with their next runs.

With *dry run* only `plan` runs. Several runs may wait for their answers; of one dataset only one writes at a time. A
run asks about one plan: for a new one, trigger it anew.

### When it fails

Nothing is lost and nothing is doubled: each letter is in bronze or still open, and a replay that was killed is finished
by the next one. Clear the task that failed, or trigger it anew.

- **Letters that should pass do not**: `smelt dlq plan DATASET` proposes the change of the contract that would help.
- **It was a mistake**: the last line of `replay`'s log names the run; trigger `undo_replay` with it.
- `smelt dlq runs` lists what was done, and `smelt reconcile DATASET` proves that every record is in one place.
"""

from __future__ import annotations

from smelter.orchestration.approval import ApproveOperator
from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import A_PERSON_WAITS, BY_HAND_TAG, RUNS_THAT_WAIT, STREAMS_POOL, a_dag
from smelter.orchestration.forms import replay_params
from smelter.orchestration.letters import (
    ABOUT_REPLAY,
    ask_about_replay,
    plan_replay_words,
    replay_words,
    tell_of_replay,
    tell_of_replay_plan,
)
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

with a_dag(
    "replay_dead_letters",
    runbook=__doc__,
    tags=["dead_letters", BY_HAND_TAG],
    max_active_runs=RUNS_THAT_WAIT,
    task_options={"priority_weight": A_PERSON_WAITS},
    params=replay_params(datasets()),
):
    # It starts no JVM, so it need not wait behind those that do.
    plan = SmeltOperator(
        task_id="plan", pool=STREAMS_POOL, words=plan_replay_words, tells=tell_of_replay_plan, keeps=ask_about_replay
    )
    approve = ApproveOperator(task_id="approve", plan="plan", about=ABOUT_REPLAY)
    replay = SmeltOperator(task_id="replay", words=replay_words, tells=tell_of_replay)
    plan >> approve >> replay
