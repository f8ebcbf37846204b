-- question: How far back can --at look?
-- about: A row is a table, that with the shortest memory first: before oldest_at it cannot be seen as it was.
-- about: Raise maintenance: snapshots and most_snapshots in the contract to keep more; each commit costs more then.
-- param: table table: Which table, such as bronze.events; all, if it is not given.
select
    "table",
    snapshots,
    oldest_at,
    round((epoch(now()) - epoch(oldest_at)) / 3600, 2) as hours_back,
    changed_at as newest_at,
    round((snapshots - 1) / nullif((epoch(changed_at) - epoch(oldest_at)) / 3600, 0), 2) as snapshots_per_hour
from ops.tables
where snapshots > 0 and ($table::varchar is null or "table" = $table)
order by oldest_at desc, "table"
