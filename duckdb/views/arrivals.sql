-- about: What the tables hold of each source, batch by batch: rows and dead letters.
-- over: bronze
-- column: dataset varchar: Which dataset.
-- column: source varchar: The file (or later the topic).
-- column: batch varchar: The token of the batch.
-- column: contract varchar: The contract that it was judged under.
-- column: arrived_at timestamptz: When the source arrived.
-- column: ingested_at timestamptz: When the batch was written.
-- column: accepted bigint: Its rows in bronze.
-- column: dead bigint: Its dead letters, whatever became of them.
with every_record as (
    select _source, _batch, _contract, _arrived_at, _ingested_at, 1 as accepted, 0 as dead from {bronze}
    union all
    select _source, _batch, _contract, _arrived_at, _ingested_at, 0 as accepted, 1 as dead from {letters}
)

select
    {dataset} as dataset,
    _source as source,
    _batch as batch,
    _contract as contract,
    _arrived_at as arrived_at,
    _ingested_at as ingested_at,
    sum(accepted)::bigint as accepted,
    sum(dead)::bigint as dead
from every_record
group by all
