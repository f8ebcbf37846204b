-- about: Every snapshot that is kept: what it added, and what there was then.
-- over: tables
-- column: table varchar: Which table.
-- column: snapshot_id bigint: Its number; smelt sql --at takes it.
-- column: committed_at timestamptz: When it was made.
-- column: operation varchar: append, overwrite, delete or replace.
-- column: is_current boolean: Is it what questions see?
-- column: added_rows bigint: Rows that it added.
-- column: removed_rows bigint: Rows that it took out.
-- column: added_files bigint: Data files that it added.
-- column: removed_files bigint: Data files that it took out.
-- column: added_bytes bigint: The size of the files that it added.
-- column: rows bigint: Rows of the table then, as its summary says.
-- column: files bigint: Data files of the table then.
-- column: bytes bigint: The size of its files then.
-- column: batch varchar: The token of the batch, where the stream made it.
-- column: read_snapshot bigint: Up to which snapshot of its source it has read, where silver or gold made it.
-- column: read_through timestamptz: Of that snapshot only what was ingested up to here, if more of it follows.
with each as (
    select
        unnest(from_json(value -> '$.snapshots', '["json"]')) as snapshot,
        (value ->> '$."current-snapshot-id"')::bigint as newest
    from iceberg_table_properties({facts})
)

select
    {table} as "table",
    (snapshot ->> '$."snapshot-id"')::bigint as snapshot_id,
    make_timestamp_ms((snapshot ->> '$."timestamp-ms"')::bigint)::timestamptz as committed_at,
    snapshot ->> '$.summary.operation' as operation,
    snapshot_id = newest as is_current,
    coalesce((snapshot ->> '$.summary."added-records"')::bigint, 0) as added_rows,
    coalesce((snapshot ->> '$.summary."deleted-records"')::bigint, 0) as removed_rows,
    coalesce((snapshot ->> '$.summary."added-data-files"')::bigint, 0) as added_files,
    coalesce((snapshot ->> '$.summary."deleted-data-files"')::bigint, 0) as removed_files,
    coalesce((snapshot ->> '$.summary."added-files-size"')::bigint, 0) as added_bytes,
    (snapshot ->> '$.summary."total-records"')::bigint as rows,
    (snapshot ->> '$.summary."total-data-files"')::bigint as files,
    (snapshot ->> '$.summary."total-files-size"')::bigint as bytes,
    snapshot ->> '$.summary."smelter.token"' as batch,
    (snapshot ->> '$.summary."smelter.read.snapshot"')::bigint as read_snapshot,
    (snapshot ->> '$.summary."smelter.read.through"')::timestamptz as read_through
from each
