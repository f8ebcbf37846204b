-- about: Every file of each table's newest snapshot, with its rows and its size.
-- over: tables
-- column: table varchar: Which table.
-- column: file varchar: Where it is.
-- column: kind varchar: data, or deletes for a file that says which rows are deleted.
-- column: rows bigint: Its rows.
-- column: bytes bigint: The size of its columns, by the manifest; the file is longer by its footer, some kilobytes.
with sizes as (
    select file_path, sum(column_size)::bigint as bytes
    from iceberg_column_stats({address})
    group by all
)

select
    {table} as "table",
    file_path as file,
    case manifest_content when 'DATA' then 'data' else 'deletes' end as kind,
    record_count as rows,
    bytes
from iceberg_metadata({address})
left join sizes using (file_path)
where status <> 'DELETED'
