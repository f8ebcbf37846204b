-- question: Which products bring in most?
-- about: A row is a product: purchases and revenue of the last days that gold has, the best first.
-- param: days bigint = 30: So many days, counted back from the newest that has a purchase.
-- param: most bigint = 10: How many rows at most.
-- chart: product_id, revenue_eur
-- needs: gold.revenue_per_product_day
select
    coalesce(product_id, 'no product') as product_id,
    count(distinct window_start) as days_with_purchases,
    sum(purchases)::bigint as purchases,
    coalesce(sum(revenue), 0) as revenue_eur,
    round(sum(revenue) / nullif(sum(purchases), 0), 2) as revenue_per_purchase_eur
from gold.revenue_per_product_day
where window_start > (select max(window_start) from gold.revenue_per_product_day) - to_days($days::integer)
group by all
order by revenue_eur desc, product_id
limit $most
