-- question: How often is something committed, and how much?
-- about: A row is an hour (UTC) of the snapshots that are still kept: expired ones are not told of any more.
-- about: Few rows per commit make small files: let the stream wait longer between batches, or maintenance pack them.
-- param: table table: Which table, such as bronze.events; all, if it is not given.
-- param: since timestamptz = 36h: Commits since then.
-- chart: hour, commits
select
    date_trunc('hour', committed_at) as hour,
    count(distinct "table") as tables,
    count(*) as commits,
    count(*) filter (operation = 'replace') as of_these_compactions,
    coalesce(sum(added_rows) filter (operation <> 'replace'), 0)::bigint as added_rows,
    coalesce(sum(added_files) filter (operation <> 'replace'), 0)::bigint as added_files,
    round(coalesce(sum(added_bytes) filter (operation <> 'replace'), 0) / 1000000, 2) as added_mb,
    round(avg(added_rows) filter (operation <> 'replace'), 1) as rows_per_commit
from ops.snapshots
where committed_at >= $since and ($table::varchar is null or "table" = $table)
group by hour
order by hour
