-- question: Which checks fail, and since when?
-- about: A row is a check whose last run did not hold: the first failure since it last held, and what it says now.
-- about: scope is increment for the rows of a silver run, or the whole table. stopped: the rows are not published.
-- about: Next: check_course for its days, smelt quality history DATASET, and smelt status for what is held back.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- needs: ops.quality
with runs as (
    select
        dataset,
        name,
        scope,
        "at",
        ok,
        decision,
        rows,
        failing,
        sentence,
        max("at") filter (ok) over (partition by dataset, name, scope) as held_last_at
    from ops.quality
    where $dataset::varchar is null or dataset = $dataset
)

select
    dataset,
    name,
    scope,
    min("at") filter (held_last_at is null or "at" > held_last_at) as failing_since,
    count(*) filter (held_last_at is null or "at" > held_last_at) as failed_runs,
    any_value(held_last_at) as held_last_at,
    max_by(decision, "at") as last_decision,
    max_by(failing, "at") as failing_rows,
    max_by(rows, "at") as rows,
    max_by(sentence, "at") as sentence
from runs
group by dataset, name, scope
having not max_by(ok, "at")
order by failing_since, dataset, name, scope
