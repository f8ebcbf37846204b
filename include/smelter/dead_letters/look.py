"""What lies among the dead letters? Groups of what is wrong in the same way, and single letters with their history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters, has_resolutions
from smelter.errors import Refused
from smelter.explore import Explorer, connect
from smelter.lake.home import DEAD_LETTERS, RESOLUTIONS, Lake

MOST_VALUES = 5  # different values of a field that get a group each; more are told together
_RULES = {"missing_field": "required", "unknown_field": "unknown_fields", "wrong_type": "type"}
_RULE = "case reason " + " ".join(f"when '{reason}' then '{rule}'" for reason, rule in _RULES.items()) + " end"
_LETTERS = f"""
select _id, _ingested_at, reason, attempts,
  coalesce(list_filter(errors, lambda e: e.rule = {_RULE})[1], errors[1]) as error
"""
_GROUPS = """
select reason, field, case when kinds > __MOST__ then null else found end as what, sum(letters)::bigint as letters,
  max(kinds) as kinds, min(first_seen) as first_seen, max(last_seen) as last_seen, max(attempts) as attempts,
  arg_min(example, first_seen) as example, arg_min(found, first_seen) as such_as
from (select *, count(*) over (partition by reason, field) as kinds from (
  select reason, error.field as field, error.found as found, count(*) as letters, min(_ingested_at) as first_seen,
    max(_ingested_at) as last_seen, max(attempts) as attempts, arg_min(_id, _ingested_at) as example
  from ({letters}) group by all))
group by reason, field, what order by letters desc, reason, field
""".replace("__MOST__", str(MOST_VALUES))
_RUNS = f"""
select run, action, dataset, contract, min(resolved_at) as moment, min(who) as who, max(because) as because,
  count(*) filter (outcome <> 'failed') as done, count(*) filter (outcome = 'failed') as failed
from {DEAD_LETTERS}.{RESOLUTIONS} where dataset = $dataset or $dataset is null
group by run, action, dataset, contract order by moment desc limit $most
"""  # noqa: S608
_HISTORY = f"""
select resolved_at, action, run, outcome, contract, who, because, errors, raw
from {DEAD_LETTERS}.{RESOLUTIONS} where dataset = $dataset and _source = $source and _position = $position
order by resolved_at
"""  # noqa: S608


@dataclass(frozen=True)
class Group:
    """Letters with the same thing wrong at the same field."""

    reason: str
    field: str
    found: str | None  # nothing if there are too many different values to tell apart
    letters: int
    kinds: int  # different values
    first_seen: datetime
    last_seen: datetime
    attempts: int  # of the one that was tried most
    example: str
    such_as: str


@dataclass(frozen=True)
class Event:
    """Something that happened to a letter."""

    at: datetime
    action: str
    run: str
    outcome: str
    contract: str
    who: str
    because: str | None
    errors: list[dict[str, str]] | None
    raw: str | None


@dataclass(frozen=True)
class OneLetter:
    """One letter, whole, with everything that happened to it."""

    dataset: str
    row: dict[str, Any]
    history: tuple[Event, ...]


@dataclass(frozen=True)
class RunLine:
    """A run over dead letters, for a list."""

    run: str
    action: str
    dataset: str
    contract: str
    at: datetime
    who: str
    because: str | None
    done: int
    failed: int


def groups(lake: Lake, dataset: str, filters: Filters) -> list[Group]:
    """The letters in groups, the largest first."""
    with Letters(lake, dataset) as letters:
        rows = letters.ask(_LETTERS, filters, wrap=_GROUPS).fetchall()
    return [Group(*row) for row in rows]


def statuses(lake: Lake, dataset: str) -> dict[str, int]:
    """How many letters there are of each status."""
    with Letters(lake, dataset) as letters:
        rows = letters.ask("select status, count(*)", Filters(status=None), rest="group by status").fetchall()
    return {str(status): int(count) for status, count in rows}


def find_letter(lake: Lake, names: list[str], letter: str) -> OneLetter:
    """The letter whose id begins so, wherever it is; refused if there is none, or more than one."""
    with connect(lake.root, catalog=lake.address) as explorer:
        found = [(name, row) for name in names for row in _beginning(explorer, name, letter)]
        if len(found) != 1:
            what = (
                f"{len(found)} letters have an id that begins with {letter}"
                if found
                else f"there is no letter {letter}"
            )
            raise Refused(what, data="nothing was changed", next_step="smelt dlq ls DATASET shows an id for each group")
        dataset, row = found[0]
        values = {"dataset": dataset, "source": row["_source"], "position": row["_position"]}
        history = explorer.execute(_HISTORY, values).fetchall() if has_resolutions(explorer) else []
    return OneLetter(dataset, row, tuple(Event(*event) for event in history))


def past_runs(lake: Lake, dataset: str | None, most: int) -> list[RunLine]:
    """The newest runs over dead letters."""
    with connect(lake.root, catalog=lake.address) as explorer:
        if not has_resolutions(explorer):
            return []
        return [RunLine(*row) for row in explorer.execute(_RUNS, {"dataset": dataset, "most": most}).fetchall()]


def _beginning(explorer: Explorer, dataset: str, letter: str) -> list[dict[str, Any]]:
    question = f'from {DEAD_LETTERS}."{dataset}" where starts_with(_id, $letter) limit 2'
    rows: list[dict[str, Any]] = explorer.execute(question, {"letter": letter}).arrow().to_pylist()
    return rows
