-- about: How long each row of silver took: from event to arrival, bronze and silver.
-- over: silver
-- column: dataset varchar: Which dataset.
-- column: source varchar: The file (or later the topic) that it came from.
-- column: position bigint: Its number in the source, from 0.
-- column: event_at timestamptz: When it happened, by the contract's event_time.
-- column: arrived_at timestamptz: When its source arrived.
-- column: ingested_at timestamptz: When it was written to bronze.
-- column: merged_at timestamptz: When it was merged into silver.
select
    {dataset} as dataset,
    _source as source,
    _position as position,
    {event_time} as event_at,
    _arrived_at as arrived_at,
    _ingested_at as ingested_at,
    _merged_at as merged_at
from {silver}
