-- question: How big are the batches?
-- about: A row is a size: how many batches of the stream held about so many records, and what they hold together.
-- about: Many small batches make many small files; compaction_gain says whether that costs anything.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: since timestamptz = 7d: Batches written since then.
-- chart: records_per_batch, batches
with batches as (
    select dataset, token, sum(records)::bigint as records, count(*) as files
    from ops.receipts
    where place = 'stream'
        and ingested_at >= $since
        and ($dataset::varchar is null or dataset = $dataset)
    group by dataset, token
)

select
    case
        when records = 0 then 'none'
        when records < 10 then '1 to 9'
        when records < 100 then '10 to 99'
        when records < 1000 then '100 to 999'
        when records < 10000 then '1,000 to 9,999'
        when records < 100000 then '10,000 to 99,999'
        when records < 1000000 then '100,000 to 999,999'
        else '1,000,000 or more'
    end as records_per_batch,
    count(*) as batches,
    sum(records)::bigint as records,
    sum(files)::bigint as files
from batches
group by records_per_batch
order by min(batches.records)
