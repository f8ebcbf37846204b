-- question: Why are records refused?
-- about: A row is a reason, the commonest first, with the sentence of its newest letter.
-- about: Next: smelt dlq plan DATASET says how many would pass under the contract of now, and what would help.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: status status = open: open, replayed, edited or discarded letters.
-- param: since timestamptz = 30d: Letters written since then.
-- chart: reason, letters
select
    reason,
    count(*) as letters,
    round(100.0 * count(*) / sum(count(*)) over (), 2) as percent,
    count(distinct source) as sources,
    min(ingested_at) as first_written_at,
    max(ingested_at) as last_written_at,
    arg_max(message, (ingested_at, id)) as newest_message
from ops.letters
where status = $status
    and ingested_at >= $since
    and ($dataset::varchar is null or dataset = $dataset)
group by reason
order by letters desc, reason
