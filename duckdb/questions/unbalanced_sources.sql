-- question: Which sources hold more or fewer records than the tables have of them?
-- about: A row is a source whose newest receipt and the tables differ; no row means that all agree.
-- about: A difference above 0: records are missing. Below 0: some are in two places, or nobody knows the source.
-- about: A batch that is being committed may show for a moment. smelt reconcile DATASET names each record.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- param: most bigint = 100: How many rows at most.
select
    dataset,
    source,
    records as records_read,
    in_bronze,
    open_letters,
    discarded_letters,
    left_for_good,
    difference,
    read_at
from ops.balance
where difference <> 0 and ($dataset::varchar is null or dataset = $dataset)
order by abs(difference) desc, dataset, source
limit $most
