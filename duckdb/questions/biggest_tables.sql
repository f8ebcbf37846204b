-- question: Which tables are the biggest?
-- about: A row is a table, by its newest snapshot; older snapshots hold files of their own besides.
-- about: Very small average files: compaction_gain. Many delete files: the same. It reads metadata only.
-- param: most bigint = 20: How many rows at most.
select
    "table",
    rows,
    round(bytes / 1000000, 2) as size_mb,
    round(100.0 * bytes / nullif(sum(bytes) over (), 0), 2) as percent_of_lake,
    files,
    delete_files,
    round(bytes / 1000000 / nullif(files, 0), 3) as average_file_mb,
    round(bytes / nullif(rows, 0), 1) as bytes_per_row,
    changed_at
from ops.tables
order by bytes desc, "table"
limit $most
