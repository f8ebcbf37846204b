"""By hand: a table goes back to what it was, once a person has seen what leaves and said yes.

### What it does

1. `plan` says to which snapshot the table would go back, how many rows would leave, and of which sources and batches.
   It changes nothing.
2. `approve` shows that and waits for a person: *Required Actions*, on Airflow's home page. **Approve** goes on;
   **Reject** ends the run well with nothing done, and so do seven days without an answer.
3. `rollback` makes that very snapshot the current one. How far silver and gold have read goes back with it, so their
   next runs take up again what left.

*Back to* is the id of a snapshot or a moment; `smelt maintain snapshots TABLE` lists them. With *dry run* only
`plan` runs. Bronze and dead letters go back only with *and ingest again* and a stopped stream (`smelt stream stop`):
what leaves is taken in again from its sources, record by record, and silver and gold are rebuilt.

### When it fails

- **`plan` refuses**: the snapshot is gone, never was one of this table or is the current one; or the table is bronze
  or dead letters, and *and ingest again* is off or the stream runs. The log says which; nothing was changed.
- **`rollback` fails**: clear the task, and it goes on. A table of silver, gold or ops is as it was or as it should be;
  if it says that the table is at that snapshot already, an attempt before has done it. Bronze and dead letters may lack
  what is to be read again: until that is done the stream is refused, and the next attempt does it first, as
  `smelt ingest DATASET --recover` would.
- **It was a mistake**: the log names the snapshot that was current before; trigger it anew with that.
- `smelt reconcile DATASET` proves that every record is in exactly one place.
"""

from __future__ import annotations

from smelter.orchestration.approval import ApproveOperator
from smelter.orchestration.factory import A_PERSON_WAITS, BY_HAND_TAG, RUNS_THAT_WAIT, STREAMS_POOL, a_dag
from smelter.orchestration.forms import rollback_params
from smelter.orchestration.maintenance import (
    ABOUT_ROLLBACK,
    ask_about_rollback,
    plan_rollback_words,
    rollback_words,
    tell_of_rollback,
    tell_of_rollback_plan,
)
from smelter.orchestration.smelt_operator import SmeltOperator

assert __doc__

with a_dag(
    "rollback_table",
    runbook=__doc__,
    tags=["maintenance", BY_HAND_TAG],
    max_active_runs=RUNS_THAT_WAIT,
    task_options={"priority_weight": A_PERSON_WAITS},
    params=rollback_params(),
):
    # It starts no JVM, so it need not wait behind those that do.
    plan = SmeltOperator(
        task_id="plan",
        pool=STREAMS_POOL,
        words=plan_rollback_words,
        tells=tell_of_rollback_plan,
        keeps=ask_about_rollback,
    )
    approve = ApproveOperator(task_id="approve", plan="plan", about=ABOUT_ROLLBACK)
    rollback = SmeltOperator(task_id="rollback", plan="plan", words=rollback_words, tells=tell_of_rollback)
    plan >> approve >> rollback
