-- about: People who did something in ten minutes, every five minutes.
-- source: silver.events
-- window: sliding 10m every 5m
-- grain: window_start
-- partition: days(window_start)
select
    window_start,
    window_end,
    count(distinct user_id) as users,
    count(*) as events
from source
group by all
