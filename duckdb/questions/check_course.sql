-- question: How has a check fared, day by day?
-- about: A row is a check on a day (UTC): how often it was asked, how often it did not hold, and how many rows fail it.
-- about: One row is judged by every check, so rows of different checks cannot be added up.
-- param: name varchar: Which check, as its contract calls it, such as 'amounts are sane'; each, if it is not given.
-- param: dataset dataset = events: Which dataset.
-- param: since timestamptz = 30d: Days since then.
-- chart: day, failing_percent
select
    name,
    day,
    runs,
    failed as failed_runs,
    stopped as stopped_runs,
    rows,
    failing as failing_rows,
    round(coalesce(100.0 * failing / nullif(rows, 0), 0), 2) as failing_percent,
    newest as sentence
from ops.quality_history
where dataset = $dataset
    and day >= $since::date
    and ($name::varchar is null or name = $name)
order by name, day
