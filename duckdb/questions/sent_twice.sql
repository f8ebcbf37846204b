-- question: How many records came more than once?
-- about: A row is a dataset: silver has one row for each key, so what bronze has more of came again.
-- about: Rows that silver has not read yet are left out. Where rows leave by keep_rows, that counts as repeated too.
-- about: repeats_by_producer says who sends them. The numbers are those of the tables' newest snapshots.
-- param: dataset dataset: Which dataset; all, if it is not given.
select
    waiting.dataset,
    bronze.rows as bronze_rows,
    waiting.rows as not_yet_in_silver,
    silver.rows as silver_rows,
    bronze.rows - waiting.rows - silver.rows as repeated_rows,
    round(100.0 * repeated_rows / nullif(bronze.rows - waiting.rows, 0), 2) as repeated_percent
from ops.waiting as waiting
join ops.tables as bronze on bronze."table" = 'bronze.' || waiting.dataset
join ops.tables as silver on silver."table" = 'silver.' || waiting.dataset
where $dataset::varchar is null or waiting.dataset = $dataset
order by waiting.dataset
