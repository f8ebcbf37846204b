-- question: What did maintenance do, and what did it free?
-- about: A row is a step for a table: how often it was done, failed or had to wait, how long it took, what it freed.
-- about: Failures: smelt maintain history TABLE tells why; smelt maintain retry TABLE takes up one set aside.
-- param: since timestamptz = 7d: Runs since then.
-- param: table varchar: Which table, such as bronze.events; all, if it is not given.
select
    "table",
    step,
    count(*) filter (outcome = 'done') as done,
    count(*) filter (outcome = 'failed') as failed,
    count(*) filter (outcome = 'postponed') as postponed,
    round(sum(seconds), 1) as seconds,
    round(sum(bytes_freed) / 1000000, 2) as freed_mb,
    max("at") as last_at,
    arg_max(outcome, ("at", run)) as last_outcome,
    arg_max(said, ("at", run)) as last_said
from ops.maintenance_steps
where "at" >= $since and ($table::varchar is null or "table" = $table)
group by "table", step
order by failed desc, freed_mb desc, "table", step
