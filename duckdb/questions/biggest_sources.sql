-- question: Which files brought most?
-- about: A row is a source, by its newest receipt: its length, its records, and how many of them are good.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: most bigint = 20: How many rows at most.
with sources as (
    select
        dataset,
        source,
        max(ingested_at) as read_at,
        max_by(bytes, ingested_at) as bytes,
        max_by(records, ingested_at) as records,
        max_by(accepted, ingested_at) as accepted,
        max_by(dead, ingested_at) as dead,
        max_by(is_whole, ingested_at) as is_whole
    from ops.receipts
    where $dataset::varchar is null or dataset = $dataset
    group by dataset, source
)

select
    dataset,
    source,
    bytes,
    records,
    accepted,
    dead,
    round(bytes / nullif(records, 0), 1) as bytes_per_record,
    is_whole,
    read_at
from sources
order by records desc, bytes desc, dataset, source
limit $most
