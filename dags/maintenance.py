"""Every hour: small files, snapshots, manifests and what nobody needs any more, of each table that needs care.

### What it does

1. `tables` asks which tables there are; it starts no JVM.
2. `table`, once for each, with the table's name in the grid: surveys it and does what is due, in this order: remove
   `rows` whose time is up where the contract says so, `compact` small files of closed partitions, `expire` snapshots
   that nobody needs, rewrite `manifests`, move `orphans` into the trash. A table that is healthy ends within seconds.
   What was left alone, and why, is in the log. One table at a time, and builds that wait go first.
3. `lake` does the same for what belongs to no table (`records`): receipts are folded, logs of drivers kept in limits.
4. `outcome` makes the run as red as its worst task, and does nothing else.

Airflow starts it every hour, and by hand with a form: which tables, which steps; with *dry run* it only says what it
would do. It works beside the stream, beside silver and gold, and beside whoever reads.

### When it fails

Nothing is lost: each step is one commit or none, rows are counted before and after, and a file that is taken away lies
in the trash first. A table that fails harms no other, and the next hour tries it again.

- **There is no such table**: a name of the form is not known; nothing was done.
- **A table is set aside**: it failed five times in a row, and is skipped from then on; its log and `smelt status` say
  why. Mend the cause, then `smelt maintain retry TABLE`.
- **A file was taken away that you need**: `smelt maintain restore RUN`; the log of its task names the run.
- `smelt maintain plan` says what is due, and `smelt maintain history TABLE` what was done.
"""

from __future__ import annotations

from smelter.orchestration.factory import AFTER_BUILDS, STREAMS_POOL, a_dag, fails_with
from smelter.orchestration.forms import maintenance_params
from smelter.orchestration.maintenance import (
    TABLES_WORDS,
    chosen_tables,
    lake_words,
    table_words,
    tell_of_maintenance,
    tell_of_tables,
    unless_set_aside,
)
from smelter.orchestration.smelt_operator import ITS_NAME, SmeltOperator

assert __doc__

with a_dag(
    "maintenance",
    runbook=__doc__,
    tags=["maintenance"],
    schedule="17 * * * *",
    task_options={"priority_weight": AFTER_BUILDS, "weight_rule": "absolute"},  # else it grows with what follows
    params=maintenance_params(),
):
    # It starts no JVM, so it need not wait behind those that do.
    tables = SmeltOperator(
        task_id="tables", pool=STREAMS_POOL, words=TABLES_WORDS, tells=tell_of_tables, keeps=chosen_tables
    )
    # The next hour comes anyway, and each attempt counts when a table is set aside for failing again and again.
    table = SmeltOperator.partial(
        task_id="table",
        retries=1,
        words=table_words,
        tells=tell_of_maintenance,
        keeps=unless_set_aside,
        map_index_template=ITS_NAME,
        max_active_tis_per_dagrun=1,
    ).expand(about=tables.output)
    lake = SmeltOperator(task_id="lake", words=lake_words, tells=tell_of_maintenance, trigger_rule="all_done")
    table >> lake
    fails_with(table, lake)
