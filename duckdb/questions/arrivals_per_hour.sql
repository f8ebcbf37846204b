-- question: How much was taken in, hour by hour?
-- about: A row is an hour (UTC) in which the stream wrote something: files, records, and what became of them.
-- about: Hours without a batch have no row; quiet_hours lists them. It reads receipts only, never a table.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: since timestamptz = 36h: Batches written since then.
-- chart: hour, records
select
    date_trunc('hour', ingested_at) as hour,
    count(distinct token) as batches,
    count(distinct source) as files,
    sum(records)::bigint as records,
    sum(accepted)::bigint as accepted,
    sum(dead)::bigint as dead,
    round(100.0 * sum(dead) / nullif(sum(records), 0), 2) as dead_percent
from ops.receipts
where place = 'stream'
    and ingested_at >= $since
    and ($dataset::varchar is null or dataset = $dataset)
group by hour
order by hour
