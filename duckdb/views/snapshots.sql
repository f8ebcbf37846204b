-- about: Every snapshot that is kept: what it added, and what there was then.
-- over: tables
-- column: table varchar: Which table.
-- column: snapshot_id bigint: Its number; smelt sql --at takes it.
-- column: committed_at timestamptz: When it was made.
-- column: operation varchar: append, overwrite, delete or replace.
-- column: is_current boolean: Is it what questions see?
-- column: is_ancestor boolean: Is it that, or did it lead to it? Others were rolled back, or their table built anew.
-- column: steps_back bigint: How many commits it lies before the current one; null if it is no ancestor.
-- column: added_rows bigint: Rows that it added.
-- column: removed_rows bigint: Rows that it took out.
-- column: added_files bigint: Data files that it added.
-- column: removed_files bigint: Data files that it took out.
-- column: added_bytes bigint: The size of the files that it added.
-- column: rows bigint: Rows of the table then, as its summary says.
-- column: files bigint: Data files of the table then.
-- column: bytes bigint: The size of its files then.
-- column: batch varchar: The token of the batch, where the stream made it.
-- column: ingested_at timestamptz: When the batch was written, where the stream or a replay made it.
-- column: removed_batches varchar: The tokens of batches that it took out as a whole, with commas between them.
-- column: read_table varchar: The uuid of what it has read, where silver or gold made it.
-- column: read_snapshot bigint: Up to which snapshot of its source it has read, where silver or gold made it.
-- column: read_through timestamptz: Of that snapshot only what was ingested up to here, if more of it follows.
-- column: read_ingested_at timestamptz: When the newest batch that it has read was written.
with each as (
    select
        unnest(from_json(value -> '$.snapshots', '["json"]')) as snapshot,
        (value ->> '$."current-snapshot-id"')::bigint as newest,
        from_json(value -> '$.ancestors', '["bigint"]') as ancestors
    from iceberg_table_properties({facts})
)

select
    {table} as "table",
    (snapshot ->> '$."snapshot-id"')::bigint as snapshot_id,
    make_timestamp_ms((snapshot ->> '$."timestamp-ms"')::bigint)::timestamptz as committed_at,
    snapshot ->> '$.summary.operation' as operation,
    snapshot_id = newest as is_current,
    list_contains(ancestors, snapshot_id) as is_ancestor,
    list_position(ancestors, snapshot_id)::bigint - 1 as steps_back,
    coalesce((snapshot ->> '$.summary."added-records"')::bigint, 0) as added_rows,
    coalesce((snapshot ->> '$.summary."deleted-records"')::bigint, 0) as removed_rows,
    coalesce((snapshot ->> '$.summary."added-data-files"')::bigint, 0) as added_files,
    coalesce((snapshot ->> '$.summary."deleted-data-files"')::bigint, 0) as removed_files,
    coalesce((snapshot ->> '$.summary."added-files-size"')::bigint, 0) as added_bytes,
    (snapshot ->> '$.summary."total-records"')::bigint as rows,
    (snapshot ->> '$.summary."total-data-files"')::bigint as files,
    (snapshot ->> '$.summary."total-files-size"')::bigint as bytes,
    snapshot ->> '$.summary."smelter.token"' as batch,
    (snapshot ->> '$.summary."smelter.ingested-at"')::timestamptz as ingested_at,
    snapshot ->> '$.summary."smelter.removed-batches"' as removed_batches,
    snapshot ->> '$.summary."smelter.read.table"' as read_table,
    (snapshot ->> '$.summary."smelter.read.snapshot"')::bigint as read_snapshot,
    (snapshot ->> '$.summary."smelter.read.through"')::timestamptz as read_through,
    (snapshot ->> '$.summary."smelter.read.ingested-at"')::timestamptz as read_ingested_at
from each
