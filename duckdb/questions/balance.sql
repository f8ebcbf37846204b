-- question: Is every record in exactly one place?
-- about: A row is a dataset: the records that its sources held, by the newest receipt of each, and where they are.
-- about: A letter that was replayed or edited is a row of bronze, so only open and discarded ones count as letters;
-- about: discarded ones that were removed since and forgotten records have their place too (left_for_good).
-- about: The difference is 0. It may differ while a batch or a run is being committed; if it stays,
-- about: unbalanced_sources says where, and smelt reconcile DATASET reads the files again and names each record.
-- param: dataset dataset: Which dataset; all, if it is not given.
select
    dataset,
    count(records) as sources,
    coalesce(sum(records), 0)::bigint as records_read,
    sum(in_bronze)::bigint as in_bronze,
    sum(went_home)::bigint as of_these_were_letters,
    sum(open_letters)::bigint as open_letters,
    sum(discarded_letters)::bigint as discarded_letters,
    sum(left_for_good)::bigint as left_for_good,
    sum(difference)::bigint as difference,
    count(*) filter (difference <> 0) as unbalanced_sources
from ops.balance
where $dataset::varchar is null or dataset = $dataset
group by dataset
order by dataset
