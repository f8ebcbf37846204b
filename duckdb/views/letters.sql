-- about: Every dead letter, with its status, its age and the first thing that is wrong.
-- over: dead_letters
-- column: dataset varchar: Which dataset it came for.
-- column: id varchar: Names the letter, as smelt dlq takes it.
-- column: reason varchar: The one word for what is wrong.
-- column: field varchar: The field of the first thing that is wrong, if it is one.
-- column: message varchar: The first thing that is wrong, as a sentence.
-- column: status varchar: open, replayed, edited or discarded.
-- column: attempts bigint: How often somebody tried to bring it home.
-- column: age interval: How long ago it was written.
-- column: source varchar: The file (or later the topic) that it came from.
-- column: position bigint: Its number in the source, from 0.
-- column: arrived_at timestamptz: When the source arrived.
-- column: ingested_at timestamptz: When it was written.
-- column: contract varchar: The contract that judged it last.
-- column: resolved_at timestamptz: When something was last done about it.
select
    {dataset} as dataset,
    _id as id,
    reason,
    nullif(errors[1].field, '') as field,
    errors[1].message as message,
    status,
    attempts,
    age,
    _source as source,
    _position as position,
    _arrived_at as arrived_at,
    _ingested_at as ingested_at,
    judged_by as contract,
    resolved_at
from {rows}
