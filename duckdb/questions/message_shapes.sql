-- question: What do the errors say, once their values are left out?
-- about: A row is a kind of sentence: quoted values are "…" and numbers are #, so that equal mistakes are one row.
-- about: Next: smelt dlq show EXAMPLE_ID shows one of them with the place of the problem.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: status status = open: open, replayed, edited or discarded letters.
-- param: most bigint = 30: How many rows at most.
select
    dataset,
    regexp_replace(
        regexp_replace(message, '"([^"\\]|\\.)*"', '"…"', 'g'),
        '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)?|-?\b[0-9]+([.,][0-9]+)*\b', '#', 'g'
    ) as message_shape,
    count(*) as letters,
    count(distinct source) as sources,
    min(ingested_at) as first_written_at,
    max(ingested_at) as last_written_at,
    arg_max(id, (ingested_at, id)) as example_id,
    arg_max(message, (ingested_at, id)) as example_message
from ops.letters
where status = $status and ($dataset::varchar is null or dataset = $dataset)
group by dataset, message_shape
order by letters desc, dataset, message_shape
limit $most
