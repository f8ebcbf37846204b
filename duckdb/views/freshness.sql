-- about: How fresh each dataset is in bronze, in silver and in dead letters.
-- over: bronze
-- column: dataset varchar: Which dataset.
-- column: arrived_at timestamptz: When the newest record in bronze arrived.
-- column: ingested_at timestamptz: When bronze last got rows.
-- column: merged_at timestamptz: When silver last got rows of it.
-- column: letter_at timestamptz: When the newest dead letter was written.
-- column: bronze_age interval: How long ago bronze last got rows.
-- column: silver_behind interval: How much older the newest batch in silver is than the newest in bronze.
select
    {dataset} as dataset,
    max(_arrived_at) as arrived_at,
    max(_ingested_at) as ingested_at,
    (select max(_merged_at) from {silver}) as merged_at,
    (select max(_ingested_at) from {letters}) as letter_at,
    now() - max(_ingested_at) as bronze_age,
    max(_ingested_at) - (select max(_ingested_at) from {silver}) as silver_behind
from {bronze}
