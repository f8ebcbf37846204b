-- question: How long do records take from arrival to silver?
-- about: A row is an hour (UTC) of batches: half of its rows were in silver after p50_seconds, 99 of 100 after p99.
-- about: Seconds are counted from the arrival of the file to the row's last merge, so a row that was replaced or
-- about: rebuilt later looks slower. If p50_to_bronze is most of it, look at the stream, else at silver's timetable.
-- about: A file arrives when it is last changed: one that is older than its landing counts from then.
-- param: dataset dataset = events: Which dataset.
-- param: since timestamptz = 36h: Rows written to bronze since then.
-- chart: hour, p50_seconds
select
    date_trunc('hour', ingested_at) as hour,
    count(*) as rows,
    round(quantile_cont(epoch(ingested_at) - epoch(arrived_at), 0.5), 2) as p50_to_bronze_seconds,
    round(quantile_cont(epoch(merged_at) - epoch(arrived_at), 0.5), 2) as p50_seconds,
    round(quantile_cont(epoch(merged_at) - epoch(arrived_at), 0.95), 2) as p95_seconds,
    round(quantile_cont(epoch(merged_at) - epoch(arrived_at), 0.99), 2) as p99_seconds
from ops.delays
where dataset = $dataset and ingested_at >= $since
group by hour
order by hour
