-- about: Events and people in each minute, by type of event.
-- source: silver.events
-- window: tumbling 1m
-- grain: window_start, event_type
-- partition: days(window_start)
select
    window_start,
    window_end,
    event_type,
    count(*) as events,
    count(distinct user_id) as users
from source
group by all
