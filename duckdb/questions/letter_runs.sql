-- question: What did each run over dead letters do?
-- about: A row is a run, the newest first: letters that went home, failed again, were closed, or are open again.
-- about: Next: smelt dlq undo RUN takes a run back.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: most bigint = 20: How many rows at most.
select
    dataset,
    run,
    action,
    max("at") as done_at,
    any_value(who) as who,
    any_value(because) as because,
    count(*) filter (outcome in ('replayed', 'edited')) as went_home,
    count(*) filter (outcome = 'failed') as failed_again,
    count(*) filter (outcome = 'discarded') as discarded,
    count(*) filter (outcome = 'reopened') as open_again
from ops.letter_history
where $dataset::varchar is null or dataset = $dataset
group by dataset, run, action
order by done_at desc, dataset, run
limit $most
