-- question: Which letters were tried again and are still not good?
-- about: A row is a kind of open letter that at least one run tried, by its reason, field and last contract.
-- about: They need another contract (smelt dlq plan DATASET), a correction (smelt dlq edit ID) or an end.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: attempts bigint = 1: Tried at least so often.
select
    dataset,
    reason,
    field,
    contract as last_judged_by,
    count(*) as letters,
    max(attempts) as most_attempts,
    max(resolved_at) as last_tried_at,
    min(id) as example_id
from ops.letters
where status = 'open'
    and attempts >= $attempts
    and ($dataset::varchar is null or dataset = $dataset)
group by dataset, reason, field, contract
order by letters desc, dataset, reason, field nulls last, contract
