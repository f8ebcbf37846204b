-- question: Who sends records that were sent before?
-- about: A row is a producer: the folder and the name of its files, with * for digits and UUIDs; the worst first.
-- about: Repeated are its rows of bronze that silver shows from elsewhere, or not yet. With keep_first the later
-- about: sender is blamed, with keep_latest the earlier. It reads the platform's columns of bronze and silver.
-- about: Of equal records in one batch, that of the file whose name sorts first counts as the first.
-- param: dataset dataset = events: Which dataset.
-- param: since timestamptz = 7d: Batches written since then.
-- param: most bigint = 20: How many rows at most.
with bronze as (
    select source, sum(accepted)::bigint as rows
    from ops.arrivals
    where dataset = $dataset and ingested_at >= $since
    group by source
    having sum(accepted) > 0
),

silver as (
    select source, count(*) as rows
    from ops.delays
    where dataset = $dataset and ingested_at >= $since
    group by source
),

named as (
    select
        regexp_extract(path, '^.*/') || regexp_replace(
            regexp_extract(path, '[^/]*$'), '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]+', '*', 'g'
        ) as producer,
        bronze.rows as bronze_rows,
        coalesce(silver.rows, 0) as silver_rows
    from (select *, replace(split_part(source, '#', 1), 'file://', '') as path from bronze) as bronze
    left join silver using (source)
)

select
    producer,
    count(*) as files,
    sum(bronze_rows)::bigint as bronze_rows,
    sum(silver_rows)::bigint as shown_in_silver,
    sum(bronze_rows - silver_rows)::bigint as repeated_rows,
    round(100.0 * sum(bronze_rows - silver_rows) / sum(bronze_rows), 2) as repeated_percent
from named
group by producer
order by repeated_rows desc, producer
limit $most
