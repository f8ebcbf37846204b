-- question: What did the newest batches hold?
-- about: A row is a batch of the stream, the newest first: its files, records, and seconds since the one before.
-- about: A batch with many dead records: smelt dlq ls DATASET --batch TOKEN says what is wrong with them.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: most bigint = 20: How many rows at most.
with batches as (
    select
        dataset,
        sequence,
        token,
        any_value(contract) as contract,
        any_value(ingested_at) as written_at,
        count(*) as files,
        sum(bytes)::bigint as bytes,
        sum(records)::bigint as records,
        sum(accepted)::bigint as accepted,
        sum(dead)::bigint as dead
    from ops.receipts
    where place = 'stream' and ($dataset::varchar is null or dataset = $dataset)
    group by all
)

select
    dataset,
    sequence,
    token,
    contract,
    written_at,
    round(epoch(written_at) - epoch(lag(written_at) over batch_before), 1) as seconds_since_batch_before,
    files,
    bytes,
    records,
    accepted,
    dead
from batches
window batch_before as (partition by dataset order by written_at, sequence)
order by written_at desc, dataset, sequence desc
limit $most
