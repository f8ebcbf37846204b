-- about: How each check has fared, day by day.
-- over: ops.quality
-- column: dataset varchar: Which dataset.
-- column: name varchar: The check, as its contract calls it.
-- column: day date: The day, in UTC.
-- column: runs bigint: How often it was asked.
-- column: failed bigint: How often it did not hold.
-- column: rows bigint: The rows that were judged.
-- column: failing bigint: Those of them that fail it.
-- column: stopped bigint: How often it kept silver from being published.
-- column: newest varchar: What it said last on that day.
select
    dataset,
    name,
    "at"::date as day,
    count(*) as runs,
    count(*) filter (not ok) as failed,
    sum(rows)::bigint as rows,
    sum(failing)::bigint as failing,
    count(*) filter (decision = 'stopped') as stopped,
    max_by(sentence, "at") as newest
from {rows}
group by all
