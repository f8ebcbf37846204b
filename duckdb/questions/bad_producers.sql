-- question: Which producer sends bad records?
-- about: A row is a producer: the folder and the name of its files, with * for digits and UUIDs; the worst first.
-- about: dead counts what was refused when it was read, whatever became of it since; main_reason is the commonest.
-- about: Next: smelt dlq ls DATASET --source PART_OF_THE_NAME shows an example of each kind.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: since timestamptz = 7d: Batches written since then.
-- param: most bigint = 20: How many rows at most.
with sources as (
    select
        dataset,
        source,
        max_by(records, ingested_at) as records,
        max_by(dead, ingested_at) as dead
    from ops.receipts
    where ingested_at >= $since and ($dataset::varchar is null or dataset = $dataset)
    group by dataset, source
),

reasons as (
    select dataset, source, reason, count(*) as letters
    from ops.letters
    where ingested_at >= $since and ($dataset::varchar is null or dataset = $dataset)
    group by dataset, source, reason
),

named as (
    select
        dataset,
        source,
        records,
        dead,
        regexp_extract(path, '^.*/') || regexp_replace(
            regexp_extract(path, '[^/]*$'), '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]+', '*', 'g'
        ) as producer
    from (select *, replace(split_part(source, '#', 1), 'file://', '') as path from sources)
),

main_reasons as (
    select dataset, producer, arg_max(reason, (letters, reason)) as main_reason
    from (
        select dataset, producer, reason, sum(letters) as letters
        from named
        join reasons using (dataset, source)
        group by dataset, producer, reason
    )
    group by dataset, producer
)

select
    dataset,
    producer,
    count(*) as files,
    sum(records)::bigint as records,
    sum(dead)::bigint as dead,
    round(100.0 * sum(dead) / nullif(sum(records), 0), 2) as dead_percent,
    any_value(main_reason) as main_reason
from named
left join main_reasons using (dataset, producer)
group by dataset, producer
order by dead desc, dataset, producer
limit $most
