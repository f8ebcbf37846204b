-- question: How has a check fared, day by day?
-- about: A row is a day (UTC): how often the check was asked, how often it did not hold, and the share of failing rows.
-- about: Without a name it is all checks of the dataset together.
-- param: name varchar: Which check, as its contract calls it, such as 'amounts are sane'.
-- param: dataset varchar = events: Which dataset.
-- param: since timestamptz = 30d: Days since then.
-- chart: day, failing_percent
select
    day,
    sum(runs)::bigint as runs,
    sum(failed)::bigint as failed_runs,
    sum(stopped)::bigint as stopped_runs,
    sum(rows)::bigint as rows,
    sum(failing)::bigint as failing_rows,
    round(coalesce(100.0 * sum(failing) / nullif(sum(rows), 0), 0), 2) as failing_percent,
    max_by(newest, (failed > 0, name)) as sentence
from ops.quality_history
where dataset = $dataset
    and day >= $since::date
    and ($name::varchar is null or name = $name)
group by day
order by day
