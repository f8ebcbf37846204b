-- question: How far is silver behind bronze?
-- about: A row is a dataset: what bronze took in after the snapshot up to which silver has read it (its bookmark).
-- about: Of a dataset that silver never read everything waits. Next: smelt silver DATASET, and smelt status,
-- about: which names a check that holds rows back. It reads metadata only. If the snapshot of the bookmark was
-- about: expired, its time counts, and smelt silver reads all of bronze again.
-- param: dataset dataset: Which dataset; all, if it is not given.
select
    dataset,
    read_up_to_at,
    commits as commits_waiting,
    rows as rows_waiting,
    oldest_at as oldest_waiting_at,
    round((epoch(now()) - epoch(oldest_at)) / 60, 1) as oldest_waiting_minutes
from ops.waiting
where $dataset::varchar is null or dataset = $dataset
order by rows_waiting desc, dataset
