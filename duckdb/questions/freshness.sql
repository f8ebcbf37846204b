-- question: How fresh is each dataset?
-- about: A row is a dataset: when bronze, silver and dead letters last got something, the stalest first.
-- about: Old in bronze: look at the producer and at smelt status. Old only in silver: silver_behind.
select
    dataset,
    ingested_at as newest_in_bronze_at,
    round(epoch(bronze_age) / 60, 1) as bronze_age_minutes,
    merged_at as newest_in_silver_at,
    round(epoch(now() - merged_at) / 60, 1) as silver_age_minutes,
    letter_at as newest_letter_at,
    arrived_at as newest_arrival_at
from ops.freshness
order by newest_in_bronze_at nulls first, dataset
