-- about: Everything that ever happened to dead letters: replays, edits, discardings and their undoing.
-- over: dead_letters.resolutions
-- column: dataset varchar: Which dataset the letter came for.
-- column: id varchar: Names the letter, as smelt dlq takes it.
-- column: source varchar: The file (or later the topic) that it came from.
-- column: position bigint: Its number in the source, from 0.
-- column: action varchar: replay, edit, discard or undo.
-- column: run varchar: Which run of it, as smelt dlq undo takes it.
-- column: outcome varchar: replayed, failed, edited, discarded or reopened.
-- column: at timestamptz: When it happened; the same for the whole run.
-- column: who varchar: Who ran it.
-- column: because varchar: Why, where somebody gave a reason.
select
    dataset,
    _id as id,
    _source as source,
    _position as position,
    action,
    run,
    outcome,
    resolved_at as "at",
    who,
    because
from {rows}
