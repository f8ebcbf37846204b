-- about: Taxi trips from each zone in each hour, how far they went and what they cost.
-- source: silver.taxi_trips
-- window: tumbling 1h
-- grain: window_start, pickup_location_id
-- partition: months(window_start)
select
    window_start,
    window_end,
    pickup_location_id,
    count(*) as trips,
    avg(trip_distance) as average_distance,
    sum(total_amount) as total_amount
from source
group by all
