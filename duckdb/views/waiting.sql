-- about: What bronze has of each dataset that silver has not read yet, by silver's bookmark; from metadata only.
-- column: dataset varchar: Which dataset.
-- column: read_up_to_at timestamptz: When bronze got what silver read last; null if silver never read it.
-- column: commits bigint: How often bronze got rows since.
-- column: rows bigint: How many rows these are.
-- column: oldest_at timestamptz: When the first of them came.
with bookmarks as (  -- the newest that was not rolled back
    from ops.snapshots
    where "table" like 'silver.%' and is_ancestor and read_table is not null and read_snapshot is not null
    qualify row_number() over (partition by "table" order by steps_back) = 1
),

datasets as (
    select
        bronze."table",
        bronze.rows,
        bookmarks.read_snapshot is null as is_unread,
        read.steps_back as read_steps_back,
        coalesce(  -- without the snapshot of the bookmark its moments tell what was read
            bookmarks.read_through,
            case when read.snapshot_id is null then coalesce(bookmarks.read_ingested_at, bookmarks.committed_at) end
        ) as unread_after,
        coalesce(bookmarks.read_through, read.committed_at, unread_after) as read_up_to_at
    from (from ops.tables where "table" like 'bronze.%') as bronze
    left join bookmarks
        on bookmarks."table" = 'silver.' || split_part(bronze."table", '.', 2)
        and bookmarks.read_table = bronze.uuid
    left join ops.snapshots as read
        on read."table" = bronze."table" and read.snapshot_id = bookmarks.read_snapshot and read.is_ancestor
),

taken_out as (
    select "table", unnest(string_split(removed_batches, ',')) as batch
    from ops.snapshots
    where is_ancestor
),

added as (
    select "table", snapshot_id, steps_back, committed_at, added_rows, coalesce(ingested_at, committed_at) as written_at
    from ops.snapshots
    anti join taken_out using ("table", batch)
    where operation = 'append' and is_ancestor
)

select
    split_part(datasets."table", '.', 2) as dataset,
    read_up_to_at,
    count(added.snapshot_id) as commits,
    case when is_unread then any_value(datasets.rows) else coalesce(sum(added_rows), 0)::bigint end as rows,
    min(added.committed_at) as oldest_at
from datasets
left join added
    on added."table" = datasets."table"
    and (is_unread or steps_back < read_steps_back or written_at > unread_after)
group by datasets."table", read_up_to_at, is_unread
