-- question: Which contract judged what?
-- about: A row is a contract as it stood in a batch: what it accepted and refused, and from when to when.
-- about: A jump of dead_percent at a new version: compare both with smelt contract, then smelt dlq plan DATASET.
-- param: dataset dataset: Which dataset; all, if it is not given.
select
    dataset,
    contract,
    min(ingested_at) as first_used_at,
    max(ingested_at) as last_used_at,
    count(distinct batch) as batches,
    sum(accepted)::bigint as accepted,
    sum(dead)::bigint as dead,
    round(100.0 * sum(dead) / nullif(sum(accepted) + sum(dead), 0), 2) as dead_percent
from ops.arrivals
where $dataset::varchar is null or dataset = $dataset
group by dataset, contract
order by dataset, first_used_at, contract
