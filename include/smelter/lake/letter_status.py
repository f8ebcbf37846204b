"""How does a dead letter stand? One question over letters and resolutions, which Spark and DuckDB understand alike.

A letter is open until a run takes it home or somebody discards it; a run that is undone opens it again. What is wrong
with it is what the last run found that tried and failed, or else what the stream found.
"""

from __future__ import annotations

from enum import StrEnum

STATUS_COLUMNS = ("status", "attempts", "age", "resolved_at", "run", "judged_by")
_KEPT = ("_id", "_source", "_position", "_arrived_at", "_ingested_at", "_batch", "_contract", "raw", "raw_bytes")
_STATUS_SQL = """
select {kept}, coalesce(r.reason, l.reason) as reason, coalesce(r.errors, l.errors) as errors,
  coalesce(r.status, 'open') as status, coalesce(r.attempts, 0) as attempts,
  current_timestamp - l._ingested_at as age, r.resolved_at, r.run, coalesce(r.judged_by, l._contract) as judged_by
from {letters} l left join (
  select _source, _position,
    case when max_by(outcome, resolved_at) in ('failed', 'reopened') then 'open'
         else max_by(outcome, resolved_at) end as status,
    count(case when outcome in ('replayed', 'edited', 'failed') then 1 end) as attempts,
    max(resolved_at) as resolved_at, max_by(run, resolved_at) as run,
    max_by(reason, resolved_at) filter (where outcome = 'failed') as reason,
    max_by(errors, resolved_at) filter (where outcome = 'failed') as errors,
    max_by(contract, resolved_at) filter (where outcome = 'failed') as judged_by
  from {resolutions} where dataset = '{dataset}' group by _source, _position
) r on r._source = l._source and r._position = l._position
"""


class Outcome(StrEnum):
    """What one run did to one letter."""

    REPLAYED = "replayed"
    EDITED = "edited"
    DISCARDED = "discarded"
    FAILED = "failed"  # tried, and still not good
    REOPENED = "reopened"  # what an earlier run did was taken back


class Status(StrEnum):
    """How a letter stands now."""

    OPEN = "open"
    REPLAYED = "replayed"
    EDITED = "edited"
    DISCARDED = "discarded"


WENT_HOME = (Outcome.REPLAYED, Outcome.EDITED)  # the record is in bronze


def status_sql(letters: str, resolutions: str, dataset: str) -> str:
    """The letters of a dataset, each with its status; names are those of an engine, and a dataset's name is checked."""
    kept = ", ".join(f"l.{name}" for name in _KEPT)
    return _STATUS_SQL.format(kept=kept, letters=letters, resolutions=resolutions, dataset=dataset)
