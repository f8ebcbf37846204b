-- about: Each source: the records that it held, by its newest receipt, and where they are now.
-- column: dataset varchar: Which dataset.
-- column: source varchar: The file (or later the topic).
-- column: read_at timestamptz: When its newest receipt was written; null if there is none.
-- column: records bigint: What it held then; null without a receipt.
-- column: in_bronze bigint: Its rows in bronze.
-- column: went_home bigint: Those of them that were dead letters, and were replayed or edited.
-- column: open_letters bigint: Its dead letters that are open.
-- column: discarded_letters bigint: Its dead letters that were discarded and are still in the table.
-- column: left_for_good bigint: Its records that were forgotten, or discarded and then removed.
-- column: difference bigint: Records that are in no place; below 0 those that are in more than one.
with receipts as (
    select dataset, source, max_by(records, ingested_at) as records, max(ingested_at) as read_at
    from ops.receipts
    group by all
),

bronze as (
    select dataset, source, sum(accepted)::bigint as records
    from ops.arrivals
    group by all
),

letters as (
    select
        dataset,
        source,
        count(*) filter (status = 'open') as still_open,
        count(*) filter (status = 'discarded') as discarded,
        count(*) filter (status in ('replayed', 'edited')) as went_home
    from ops.letters
    group by all
),

spans as (  -- two may overlap: what an earlier one tells is not counted again
    select
        dataset,
        source,
        first,
        last,
        max(last) over (
            partition by dataset, source order by first, last rows between unbounded preceding and 1 preceding
        ) as told_up_to
    from ops.departures
),

forgotten as (
    select
        dataset,
        source,
        sum(greatest(last - greatest(first, coalesce(told_up_to + 1, first)) + 1, 0))::bigint as records
    from spans
    group by all
),

discarded as (
    select dataset, source, position
    from ops.letter_history
    group by all
    having max_by(outcome, "at") = 'discarded'
),

removed as (
    select dataset, source, count(*) as records
    from discarded
    where not exists (
        select 1 from ops.letters as letter
        where letter.dataset = discarded.dataset
            and letter.source = discarded.source
            and letter.position = discarded.position
    )
    and not exists (
        select 1 from ops.departures as gone
        where gone.dataset = discarded.dataset
            and gone.source = discarded.source
            and discarded.position between gone.first and gone.last
    )
    group by all
)

select
    dataset,
    source,
    receipts.read_at as read_at,
    receipts.records as records,
    coalesce(bronze.records, 0) as in_bronze,
    coalesce(letters.went_home, 0) as went_home,
    coalesce(letters.still_open, 0) as open_letters,
    coalesce(letters.discarded, 0) as discarded_letters,
    coalesce(forgotten.records, 0) + coalesce(removed.records, 0) as left_for_good,
    coalesce(receipts.records, 0) - in_bronze - open_letters - discarded_letters - left_for_good as difference
from receipts
full join bronze using (dataset, source)
full join letters using (dataset, source)
left join forgotten using (dataset, source)
left join removed using (dataset, source)
