-- question: How long do people stay, and how many buy?
-- about: A row is a day (UTC): the sessions that began on it, their length, and the share with a purchase.
-- param: days bigint = 30: So many days, counted back from the newest session.
-- chart: day, p50_seconds
-- needs: gold.sessions
select
    date_trunc('day', window_start)::date as day,
    count(*) as sessions,
    count(distinct user_id) as users,
    round(avg(events), 2) as events_per_session,
    round(quantile_cont(duration_seconds, 0.5), 1) as p50_seconds,
    round(quantile_cont(duration_seconds, 0.95), 1) as p95_seconds,
    round(100.0 * count(*) filter (purchases > 0) / count(*), 2) as with_purchase_percent
from gold.sessions
where window_start >= date_trunc('day', (select max(window_start) from gold.sessions)) - to_days($days::integer - 1)
group by day
order by day
