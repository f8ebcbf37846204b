-- about: What maintenance did, step by step.
-- over: ops.maintenance
-- column: run varchar: Which run.
-- column: table varchar: Which table; `lake` for what was done for all.
-- column: at timestamptz: When it was done.
-- column: step varchar: rows, compact, expire, manifests, orphans and so on.
-- column: outcome varchar: done, failed, postponed or planned.
-- column: said varchar: What it did, as a sentence.
-- column: seconds double: How long it took.
-- column: bytes_freed bigint: How much room it gave back.
select
    run,
    "table",
    "at",
    each.step as step,
    each.outcome as outcome,
    each.said as said,
    each.seconds as seconds,
    each.bytes_freed as bytes_freed
from (select * exclude (outcome, seconds, bytes_freed), unnest(steps) as each from {rows})
