-- question: What would compaction gain?
-- about: A row is a table, that with most to gain first: files that a question opens now, and would open after.
-- about: Small files of one folder become as few of the target size as hold them, if there are enough of them;
-- about: files that say which rows are deleted go too. Next: smelt maintain plan, which also says what must wait.
-- param: small_mb double = 96: A file below this is small.
-- param: target_mb double = 128: How large the files are that they become; 1 at least.
-- param: fewest bigint = 5: So many small files of a folder are packed, fewer are left.
with folders as (
    select
        "table",
        regexp_replace(file, '/[^/]*$', '') as folder,
        count(*) filter (kind = 'data') as files,
        count(*) filter (kind = 'deletes') as delete_files,
        count(*) filter (kind = 'data' and coalesce(bytes, 0) < $small_mb * 1000000) as small_files,
        coalesce(sum(bytes) filter (kind = 'data' and bytes < $small_mb * 1000000), 0) as small_bytes
    from ops.files
    group by all
),

packed as (
    select
        *,
        small_files >= greatest($fewest, 2) as is_packed,
        greatest(ceil(small_bytes / (greatest($target_mb, 1) * 1000000)), 1)::bigint as large_files
    from folders
)

select
    "table",
    sum(files + delete_files)::bigint as files,
    sum(small_files)::bigint as small_files,
    sum(delete_files)::bigint as delete_files,
    count(*) filter (is_packed) as folders_to_pack,
    sum(case when is_packed then files - small_files + least(large_files, small_files) else files end)::bigint
        as files_after,
    round(100.0 * (1 - files_after / sum(files + delete_files)), 1) as opens_saved_percent,
    round(coalesce(sum(small_bytes) filter (is_packed), 0) / 1000000, 2) as mb_to_rewrite
from packed
group by "table"
order by sum(files + delete_files) - files_after desc, "table"
