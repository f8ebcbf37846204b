-- about: Purchases of each product on each day, and what they brought in.
-- source: silver.events
-- window: tumbling 1d
-- grain: window_start, product_id
-- partition: months(window_start)
select
    window_start,
    product_id,
    count(*) as purchases,
    sum(amount) as revenue
from source
where event_type = 'purchase'
group by all
