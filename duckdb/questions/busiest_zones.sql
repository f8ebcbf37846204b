-- question: Where do taxis start most?
-- about: A row is a taxi zone, the busiest first: its trips, how far they went, what they cost, its busiest hour.
-- param: days bigint = 31: So many days, counted back from the newest trip.
-- param: most bigint = 20: How many rows at most.
-- chart: pickup_location_id, trips
-- needs: gold.trips_per_zone_hour
select
    pickup_location_id,
    sum(trips)::bigint as trips,
    round(100.0 * sum(trips) / sum(sum(trips)) over (), 2) as percent_of_trips,
    round(sum(average_distance * trips) / sum(trips), 2) as average_miles,
    round(sum(total_amount) / sum(trips), 2) as average_amount_usd,
    arg_max(window_start, (trips, window_start)) as busiest_hour,
    max(trips) as trips_in_busiest_hour
from gold.trips_per_zone_hour
where window_start > (select max(window_start) from gold.trips_per_zone_hour) - to_days($days::integer)
group by pickup_location_id
order by trips desc, pickup_location_id
limit $most
