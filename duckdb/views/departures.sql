-- about: Records that have left for good, as runs of positions; two runs may tell of the same record.
-- over: ops.forgotten
-- column: dataset varchar: Which dataset.
-- column: source varchar: The file (or later the topic) that they came from.
-- column: first bigint: The first position of the run.
-- column: last bigint: The last one; every position between them has left too.
-- column: run varchar: Which run let them go.
-- column: why varchar: forget, or retention: their time was up.
-- column: left_at timestamptz: When they were noted, just before they left.
select
    dataset,
    _source as source,
    first,
    last,
    run,
    why,
    forgotten_at as left_at
from {rows}
