"""What a run did is taken back: its rows leave bronze, its letters are open again, as they were.

Safe to kill and to repeat: an undoing is a run like others, prepared and finished by the next one. Letters are opened
before rows leave, so that a record may for a moment be seen in two places, and never in none. Silver sees that rows
left by bronze's own history, and brings the next record of each key in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from smelter.dead_letters.letters import BATCH_ROWS, has_resolutions
from smelter.dead_letters.receipts import receipts_without
from smelter.dead_letters.run import NO_HOOKS, Hooks, running
from smelter.dead_letters.work import IDENTITY, Desk
from smelter.errors import Refused
from smelter.explore import Explorer, connect
from smelter.lake.home import Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS
from smelter.lake.letter_status import Outcome, status_sql
from smelter.records import Limits

_CLOSING = "outcome in ('replayed', 'edited', 'discarded')"
_NOTHING = "nothing was changed"
_RUN = """
select dataset, action, run, count(*) filter (outcome in ('replayed', 'edited', 'discarded')) as closed,
  count(*) filter (outcome = 'failed') as failed, min(resolved_at) as moment, min(who) as who
from dead_letters.resolutions where run = $run or split_part(run, ':', 2) = $run group by dataset, action, run
"""
# The first thing that happens to a letter which a run has closed is the undoing of that run.
_UNDONE = f"""
select later.run from dead_letters.resolutions r join dead_letters.resolutions later
on later.dataset = r.dataset and later._source = r._source and later._position = r._position
  and later.resolved_at > r.resolved_at
where r.run = $run and r.{_CLOSING} order by later.resolved_at limit 1
"""  # noqa: S608
_GONE = f"""
select count(*) from (
  select _source, _position, max_by(outcome, resolved_at) as outcome, max(resolved_at) as resolved_at
  from dead_letters.resolutions where dataset = $dataset
    and _source in (select _source from dead_letters.resolutions where run = $run) group by _source, _position
) r anti join __letters__ l using (_source, _position)
where r.{_CLOSING} and r.resolved_at >= (select min(resolved_at) from dead_letters.resolutions where run = $run)
"""  # noqa: S608
_BROUGHT = "from dead_letters.resolutions where run = $run and outcome = 'failed' and raw is not null"
_MOVED = f"""
select run, count(*) from __letters__ l where status <> 'open' and (_batch = $run or exists (
  {_BROUGHT} and _source = l._source and _position = l._position
)) group by run order by max(resolved_at) desc limit 1
"""  # noqa: S608


@dataclass(frozen=True)
class RunFound:
    """A run over dead letters, as the resolutions tell."""

    dataset: str
    action: str
    run: str
    closed: int
    failed: int


@dataclass(frozen=True)
class Undone:
    """What was taken back."""

    dataset: str
    run: str  # that was undone
    by: str  # the run that undid it
    letters: int  # that are open again
    has_left_bronze: bool


def find_run(lake: Lake, run: str) -> RunFound:
    """The run of this name, with or without what it did before it; refused if there is none."""
    with connect(lake.root, catalog=lake.address) as explorer:
        found = explorer.execute(_RUN, {"run": run}).fetchall() if has_resolutions(explorer) else []
    if len(found) != 1:
        raise Refused(
            f"there is no run {run}" if not found else f"{run} is the name of {len(found)} runs",
            data=_NOTHING,
            next_step="smelt dlq runs lists them",
        )
    dataset, action, name, closed, failed, _at, _who = found[0]
    return RunFound(dataset, action, name, closed, failed)


def what_would_be_undone(lake: Lake, run: str) -> RunFound:
    """The run, if it can be undone; changes nothing."""
    found = find_run(lake, run)
    with connect(lake.root, catalog=lake.address) as explorer:
        refuse_unless_undoable(explorer, found)
    return found


def undo(
    lake: Lake,
    run: str,
    limits: Limits,
    because: str = "",
    hooks: Hooks = NO_HOOKS,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Undone:
    """Take a replay, an edit or a discarding back; refused if a later run has done something with its letters."""
    found = find_run(lake, run)
    with running(lake, found.dataset, limits, f"smelt dlq undo {found.run}", hooks, wait_seconds) as runs:
        with connect(lake.root, catalog=lake.address) as explorer:
            refuse_unless_undoable(explorer, found)
            work = runs.new("undo")
            desk = Desk(work)
            letters = _reopen(explorer, desk, found, because)
            receipts = receipts_without(runs, explorer, found.run)
        has_rows = found.action in ("replay", "edit")
        removes = [found.run] if has_rows else []
        runs.commit(work, desk.resolutions.finish(), receipts=receipts, removes=removes)
        return Undone(found.dataset, found.run, work.token, letters, has_rows)


def refuse_unless_undoable(explorer: Explorer, found: RunFound) -> None:
    """A run can be undone while its letters are where it left them."""
    if found.action == "undo" or not (found.closed or _wrote(explorer, found)):
        why = "is an undoing itself" if found.action == "undo" else "closed no letter"
        raise Refused(
            f"{found.run} {why}: there is nothing to take back",
            data=_NOTHING,
            next_step=f"smelt dlq replay {found.dataset}",
        )
    undone = explorer.execute(_UNDONE, {"run": found.run}).fetchone()
    if undone is not None:
        raise Refused(
            f"{found.run} was undone by {undone[0]}", data=_NOTHING, next_step=f"smelt dlq replay {found.dataset}"
        )
    _refuse_without_letters(explorer, found)
    _refuse_after_others(explorer, found)


def _wrote(explorer: Explorer, found: RunFound) -> bool:
    """Has it rows in a table? A file that was read again may bring some, and its letter be open still."""
    places = (f'{place}."{found.dataset}"' for place in ("bronze", "dead_letters"))
    counts = (f"select count(*) from {place} where _batch = $run" for place in places)  # noqa: S608
    return any(_number(explorer, count, found.run) for count in counts)


def _refuse_without_letters(explorer: Explorer, found: RunFound) -> None:
    """What retention has removed cannot be open again, be it closed by the run itself or later, in a file it read."""
    values = {"run": found.run, "dataset": found.dataset}
    row = explorer.execute(_GONE.replace("__letters__", _letters_of(found)), values).fetchone()
    if row is not None and row[0]:
        raise Refused(
            f"{row[0]:,} letters of {found.run} were removed since, because their time was up (dead_letters.keep)",
            data=_NOTHING,
            next_step=f"smelt dlq ls {found.dataset} --status all",
        )


def _refuse_after_others(explorer: Explorer, found: RunFound) -> None:
    """Letters that the run wrote, or whose text it brought from a file, may have a life of their own since."""
    row = explorer.execute(_MOVED.replace("__letters__", _letters_of(found)), {"run": found.run}).fetchone()
    if row is not None:
        raise Refused(
            f"{row[0]} has done something with {row[1]:,} letters that {found.run} brought",
            data=_NOTHING,
            next_step=f"smelt dlq undo {row[0]}",
        )


def _reopen(explorer: Explorer, desk: Desk, found: RunFound, because: str) -> int:
    """Open the letters that the run closed; those whose text it brought from a file become what they were."""
    count = 0
    why = because or None
    names = ", ".join(IDENTITY)
    closed = f"select {names} from dead_letters.resolutions where run = $run and {_CLOSING}"  # noqa: S608
    for batch in explorer.execute(closed, {"run": found.run}).batches(BATCH_ROWS):
        count += batch.num_rows
        desk.resolve(batch, Outcome.REOPENED, because=pa.repeat(pa.scalar(why, pa.string()), batch.num_rows))
    others = "(from dead_letters.resolutions where run <> $run)"
    before = status_sql(f'lake.dead_letters."{found.dataset}"', others, found.dataset)
    brought = (
        f"select {names}, reason, errors, raw, coalesce(raw_bytes, encode(raw)) as raw_bytes from ({before}) "  # noqa: S608
        f"semi join ({_BROUGHT}) using (_source, _position)"
    )
    for batch in explorer.execute(brought, {"run": found.run}).batches(BATCH_ROWS):
        more: dict[str, Any] = {name: batch.column(name) for name in ("reason", "errors", "raw", "raw_bytes")}
        desk.resolve(batch.select(IDENTITY), Outcome.REOPENED, **more)
    return count


def _letters_of(found: RunFound) -> str:
    return f'dead_letters."{found.dataset}"'


def _number(explorer: Explorer, question: str, run: str) -> int:
    row = explorer.execute(question, {"run": run}).fetchone()
    return int(row[0]) if row else 0
