"""By hand: what the lake holds of a person leaves it, once another person has seen how much and said yes.

### What it does

1. `plan` counts the rows and letters that the condition means, and names the landing files, snapshots and the trash
   that would still hold values afterwards, with the day on which they go. It changes nothing.
2. `approve` shows that and waits for a person: *Required Actions*, on Airflow's home page. **Approve** goes on;
   **Reject** ends the run well with nothing done, and so do seven days without an answer. If nothing matches, nobody is
   asked.
3. `forget` removes the rows from bronze, dead letters, silver and gold. Only where they stood is kept, and *because*:
   `smelt reconcile` stays balanced, and neither a replay nor a recovery brings them back.

*Where* is a condition on fields of the contract: `user_id = 'u17'`. It goes to the command as it was typed. With *dry
run* only `plan` runs.

### When it fails

- **`plan` refuses**: the condition cannot be read, or names a field that the contract has not. Nothing was changed.
- **`forget` fails**: some tables may have let the rows go and others not yet. Clear the task: it finishes what was
  begun, and nothing comes back meanwhile.
- **Too much was meant**: there is no way back. Say no while it is a plan.
- Airflow's own memory of the form and of the plan goes with `housekeeping`; logs and notices do not have the condition.
"""

from __future__ import annotations

from smelter.orchestration.approval import ApproveOperator
from smelter.orchestration.datasets import datasets
from smelter.orchestration.factory import A_PERSON_WAITS, BY_HAND_TAG, RUNS_THAT_WAIT, STREAMS_POOL, a_dag
from smelter.orchestration.forgetting import (
    ABOUT_FORGETTING,
    ask_about_forgetting,
    forget_words,
    plan_forget_words,
    tell_of_forget_plan,
    tell_of_forgetting,
)
from smelter.orchestration.forms import forget_params
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

with a_dag(
    "forget_person",
    runbook=__doc__,
    tags=["maintenance", BY_HAND_TAG],
    max_active_runs=RUNS_THAT_WAIT,
    task_options={"priority_weight": A_PERSON_WAITS},
    params=forget_params(datasets()),
):
    # It starts no JVM, so it need not wait behind those that do.
    plan = SmeltOperator(
        task_id="plan",
        pool=STREAMS_POOL,
        words=plan_forget_words,
        tells=tell_of_forget_plan,
        keeps=ask_about_forgetting,
    )
    approve = ApproveOperator(task_id="approve", plan="plan", about=ABOUT_FORGETTING)
    forget = SmeltOperator(task_id="forget", words=forget_words, tells=tell_of_forgetting)
    plan >> approve >> forget
