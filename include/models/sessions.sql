-- about: What one person did until a pause of ten minutes.
-- source: silver.events
-- window: session gap 10m by user_id
-- grain: user_id, window_start
-- partition: days(window_start)
select
    user_id,
    window_start,
    window_end,
    min(event_timestamp) as started_at,
    max(event_timestamp) as ended_at,
    count(*) as events,
    count_if(event_type = 'purchase') as purchases,
    (unix_micros(max(event_timestamp)) - unix_micros(min(event_timestamp))) / 1e6 as duration_seconds
from source
group by all
