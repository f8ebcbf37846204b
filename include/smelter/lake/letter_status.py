"""How does a dead letter stand? One question over letters and resolutions, which Spark and DuckDB understand alike.

A letter is open until a run takes it home or somebody discards it; a run that is undone opens it again. What is wrong
with it is what the last run found that tried and failed, or else what the stream found.
"""

from __future__ import annotations

from enum import StrEnum

DEAD_LETTERS, RESOLUTIONS = "dead_letters", "resolutions"
_KEPT = ("_id", "_source", "_position", "_arrived_at", "_ingested_at", "_batch", "_contract")
_JUDGED = frozenset({"reason", "errors", "raw", "raw_bytes"})
LETTER_COLUMNS = _JUDGED | frozenset(_KEPT)
RESOLUTION_COLUMNS = _JUDGED | {"dataset", "_source", "_position", "outcome", "run", "contract", "resolved_at"}
_STATUS_SQL = """
select {kept}, coalesce(r.reason, l.reason) as reason, coalesce(r.errors, l.errors) as errors,
  coalesce(r.raw, l.raw) as raw, coalesce(r.raw_bytes, l.raw_bytes) as raw_bytes,
  coalesce(r.status, 'open') as status, coalesce(r.attempts, 0) as attempts,
  current_timestamp - l._ingested_at as age, r.resolved_at, r.run, coalesce(r.judged_by, l._contract) as judged_by
from {letters} l left join (
  select _source, _position,
    case when max_by(outcome, resolved_at) in ('failed', 'reopened') then 'open'
         else max_by(outcome, resolved_at) end as status,
    count(case when outcome in ('replayed', 'edited', 'failed') then 1 end) as attempts,
    max(resolved_at) as resolved_at, max_by(run, resolved_at) as run,
    max_by(reason, resolved_at) filter (where {is_judged}) as reason,
    max_by(errors, resolved_at) filter (where {is_judged}) as errors,
    max_by(contract, resolved_at) filter (where {is_judged}) as judged_by,
    max_by(raw, resolved_at) filter (where {is_judged} and raw is not null) as raw,
    max_by(raw_bytes, resolved_at) filter (where {is_judged} and raw is not null) as raw_bytes
  from {resolutions} where dataset = '{dataset}' group by _source, _position
) r on r._source = l._source and r._position = l._position
"""
_IS_JUDGED = "outcome in ('failed', 'reopened') and reason is not null"


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
    """The letters of a dataset, each with its status; letters and resolutions are names as the engine quotes them."""
    kept, name = ", ".join(f"l.{name}" for name in _KEPT), dataset.replace("'", "''")
    return _STATUS_SQL.format(
        kept=kept, letters=letters, resolutions=resolutions, dataset=name, is_judged=_IS_JUDGED
    ).strip()
