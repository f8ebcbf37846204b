-- about: Every table: its rows, files, bytes and snapshots, and when it last changed.
-- over: tables
-- column: table varchar: Which table.
-- column: rows bigint: Its rows, as its newest snapshot says; deleted rows that still lie in files are among them.
-- column: files bigint: Its data files.
-- column: delete_files bigint: Files that say which rows are deleted (merge-on-read).
-- column: bytes bigint: The size of its files.
-- column: snapshots bigint: How many snapshots are kept.
-- column: oldest_at timestamptz: When the oldest of them was made: so far back --at can see.
-- column: changed_at timestamptz: When the newest was made.
-- column: columns bigint: How many columns it has.
-- column: location varchar: Where it lies.
-- column: uuid varchar: Which table it is: one that is dropped and made again has another.
with facts as (
    select
        value ->> '$.location' as location,
        value ->> '$."table-uuid"' as uuid,
        (value ->> '$."current-snapshot-id"')::bigint as newest,
        (value ->> '$.columns')::bigint as columns,
        coalesce(from_json(value -> '$.snapshots', '["json"]'), []) as snapshots
    from iceberg_table_properties({facts})
),

chosen as (
    select
        *,
        list_filter(snapshots, lambda one: (one ->> '$."snapshot-id"')::bigint = newest)[1] as now,
        list_transform(snapshots, lambda one: (one ->> '$."timestamp-ms"')::bigint) as moments
    from facts
)

select
    {table} as "table",
    coalesce((now ->> '$.summary."total-records"')::bigint, 0) as rows,
    coalesce((now ->> '$.summary."total-data-files"')::bigint, 0) as files,
    coalesce((now ->> '$.summary."total-delete-files"')::bigint, 0) as delete_files,
    coalesce((now ->> '$.summary."total-files-size"')::bigint, 0) as bytes,
    len(snapshots) as snapshots,
    make_timestamp_ms(list_min(moments))::timestamptz as oldest_at,
    make_timestamp_ms((now ->> '$."timestamp-ms"')::bigint)::timestamptz as changed_at,
    columns,
    location,
    uuid
from chosen
