-- about: What bronze has of each dataset that silver has not read yet, by silver's bookmark; from metadata only.
-- column: dataset varchar: Which dataset.
-- column: read_up_to_at timestamptz: When bronze got what silver read last; null if silver never read it.
-- column: commits bigint: How often bronze got rows since.
-- column: rows bigint: How many rows these are.
-- column: oldest_at timestamptz: When the first of them came.
with bookmarks as (  -- what is newer than the current snapshot was rolled back
    select
        silver."table",
        max_by(silver.read_snapshot, silver.committed_at) as snapshot_id,
        arg_max_null(silver.read_through, silver.committed_at) as read_through
    from ops.snapshots as silver
    join ops.snapshots as newest on newest."table" = silver."table" and newest.is_current
    where silver."table" like 'silver.%'
        and silver.read_snapshot is not null
        and silver.committed_at <= newest.committed_at
    group by all
),

datasets as (
    select
        bronze."table",
        bronze.rows,
        coalesce(bookmarks.read_through, read.committed_at) as read_up_to_at
    from (from ops.tables where "table" like 'bronze.%') as bronze
    left join bookmarks on bookmarks."table" = 'silver.' || split_part(bronze."table", '.', 2)
    left join ops.snapshots as read on read."table" = bronze."table" and read.snapshot_id = bookmarks.snapshot_id
)

select
    split_part(datasets."table", '.', 2) as dataset,
    read_up_to_at,
    count(added.snapshot_id) as commits,
    case
        when read_up_to_at is null then any_value(datasets.rows)
        else coalesce(sum(added.added_rows), 0)::bigint
    end as rows,
    min(added.committed_at) as oldest_at
from datasets
left join (from ops.snapshots where operation = 'append') as added
    on added."table" = datasets."table"
    and (read_up_to_at is null or added.committed_at > read_up_to_at)
group by datasets."table", read_up_to_at
