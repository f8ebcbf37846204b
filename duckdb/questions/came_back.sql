-- question: Of the letters of each day, how many came back?
-- about: A row is a day (UTC) on which letters were written, with what has become of them until now.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: since timestamptz = 30d: Letters written since then.
-- chart: day, came_back_percent
select
    ingested_at::date as day,
    count(*) as letters,
    count(*) filter (status = 'open') as still_open,
    count(*) filter (status = 'replayed') as replayed,
    count(*) filter (status = 'edited') as edited,
    count(*) filter (status = 'discarded') as discarded,
    round(100.0 * count(*) filter (status in ('replayed', 'edited')) / count(*), 2) as came_back_percent
from ops.letters
where ingested_at >= $since and ($dataset::varchar is null or dataset = $dataset)
group by day
order by day
