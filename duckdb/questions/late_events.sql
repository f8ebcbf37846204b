-- question: How late do events arrive?
-- about: A row is a delay from the event (the contract's event_time) to the arrival of its source, with its rows.
-- about: Before it happened: a clock is wrong somewhere. percent_so_far tells what a wait so long would catch.
-- param: dataset dataset = events: Which dataset.
-- param: since timestamptz = 7d: Rows written to bronze since then.
-- chart: delay, rows
with rows as (
    select epoch(arrived_at) - epoch(event_at) as seconds
    from ops.delays
    where dataset = $dataset and ingested_at >= $since
),

delays as (
    select
        case
            when seconds is null then 'no event time'
            when seconds < 0 then 'before it happened'
            when seconds < 1 then 'under 1 second'
            when seconds < 10 then '1 to 10 seconds'
            when seconds < 60 then '10 seconds to 1 minute'
            when seconds < 600 then '1 to 10 minutes'
            when seconds < 3600 then '10 minutes to 1 hour'
            when seconds < 86400 then '1 hour to 1 day'
            when seconds < 604800 then '1 to 7 days'
            else '7 days or more'
        end as delay,
        count(*) as rows,
        min(seconds) as least
    from rows
    group by all
)

select
    delay,
    rows,
    round(100.0 * rows / sum(rows) over (), 2) as percent,
    round(100.0 * sum(rows) over (order by least nulls last) / sum(rows) over (), 2) as percent_so_far
from delays
order by least nulls last
