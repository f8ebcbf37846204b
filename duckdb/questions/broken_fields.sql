-- question: Which fields break most rules?
-- about: A row is a field, by the first thing that is wrong with each letter; without a field it is the whole record.
-- about: Next: smelt dlq ls DATASET --field FIELD shows what was found there.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: since timestamptz = 30d: Letters written since then.
select
    dataset,
    field,
    count(*) as letters,
    count(*) filter (status = 'open') as open_letters,
    round(100.0 * count(*) / sum(count(*)) over (partition by dataset), 2) as percent_of_dataset,
    string_agg(distinct reason, ', ' order by reason) as reasons,
    arg_max(message, (ingested_at, id)) as newest_message
from ops.letters
where ingested_at >= $since and ($dataset::varchar is null or dataset = $dataset)
group by dataset, field
order by letters desc, dataset, field nulls last
