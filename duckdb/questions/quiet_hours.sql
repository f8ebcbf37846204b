-- question: When did nothing arrive?
-- about: A row is a gap between two batches that brought records, the longest first; without an end it lasts still.
-- about: It may have begun before since.
-- about: A gap that lasts: smelt status says whether the stream runs and whether files wait for it.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: minutes double = 60: Gaps at least so long.
-- param: since timestamptz = 7d: Gaps that ended since then, or last still.
with batches as (
    select dataset, ingested_at
    from ops.receipts
    where place = 'stream'
        and records > 0
        and ($dataset::varchar is null or dataset = $dataset)
    group by dataset, ingested_at
),

gaps as (
    select
        dataset,
        ingested_at as quiet_from,
        lead(ingested_at) over (partition by dataset order by ingested_at) as quiet_until
    from batches
)

select
    dataset,
    quiet_from,
    quiet_until,
    round((epoch(coalesce(quiet_until, now())) - epoch(quiet_from)) / 60, 1) as minutes
from gaps
where coalesce(quiet_until >= $since, true)
    and epoch(coalesce(quiet_until, now())) - epoch(quiet_from) >= 60 * $minutes
order by minutes desc, dataset, quiet_from
