-- question: How long have open letters waited?
-- about: A row is an age: how many open letters are so old, by how long ago they were written.
-- about: Next: smelt dlq replay DATASET brings back what is good now; smelt dlq discard closes what nobody wants.
-- param: dataset dataset: Which dataset; all, if it is not given.
-- chart: age, open_letters
with waiting as (
    select id, attempts, epoch(age) / 3600 as hours
    from ops.letters
    where status = 'open' and ($dataset::varchar is null or dataset = $dataset)
)

select
    case
        when hours < 1 then 'under 1 hour'
        when hours < 24 then '1 hour to 1 day'
        when hours < 168 then '1 to 7 days'
        when hours < 720 then '7 to 30 days'
        when hours < 2160 then '30 to 90 days'
        else '90 days or more'
    end as age,
    count(*) as open_letters,
    count(*) filter (attempts > 0) as tried_before
from waiting
group by 1
order by min(hours)
