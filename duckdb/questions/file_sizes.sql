-- question: How large are the data files?
-- about: A row is a size: how many data files of the newest snapshots are about so large, and what they hold.
-- about: Many small ones cost an open each for every question; compaction_gain says in which table.
-- param: table table: Which table, such as bronze.events; all, if it is not given.
-- chart: size, files
with files as (
    select coalesce(bytes, 0) / 1000000 as mb, rows
    from ops.files
    where kind = 'data' and ($table::varchar is null or "table" = $table)
)

select
    case
        when mb < 0.1 then 'under 0.1 MB'
        when mb < 1 then '0.1 to 1 MB'
        when mb < 8 then '1 to 8 MB'
        when mb < 32 then '8 to 32 MB'
        when mb < 96 then '32 to 96 MB'
        when mb < 256 then '96 to 256 MB'
        else '256 MB or more'
    end as size,
    count(*) as files,
    sum(rows)::bigint as rows,
    round(sum(mb), 2) as total_mb
from files
group by size
order by min(mb)
