"""What a run did is taken back: its rows leave bronze, its letters are open again, as they were.

Safe to kill and to repeat: an undoing is a run like others, prepared and finished by the next one. Letters are opened
before rows leave, so that a record may for a moment be seen in two places, and never in none. Silver sees that rows
left by bronze's own history, and brings the next record of each key in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from smelter.dead_letters.letters import BATCH_ROWS
from smelter.dead_letters.run import NO_HOOKS, Hooks, Runs, running
from smelter.dead_letters.work import IDENTITY, Desk
from smelter.errors import Refused
from smelter.explore import Explorer, connect
from smelter.lake.batches import BatchRecords, Receipt
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
_LATER = """
select later.run, later.action, count(*) from dead_letters.resolutions r join dead_letters.resolutions later
on later.dataset = r.dataset and later._source = r._source and later._position = r._position
  and later.resolved_at > r.resolved_at
where r.run = $run and r.outcome <> 'failed' group by all order by max(later.resolved_at) desc limit 1
"""


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
        found = explorer.execute(_RUN, {"run": run}).fetchall() if _is_told(explorer) else []
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
        has_rows = found.action in ("replay", "edit")
        removes = [found.run] if has_rows else []
        runs.commit(work, desk.resolutions.finish(), receipts=_receipts_before(runs, found.run), removes=removes)
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
    later = explorer.execute(_LATER, {"run": found.run}).fetchone()
    if later is not None and later[1] == "undo":
        raise Refused(
            f"{found.run} was undone by {later[0]}", data=_NOTHING, next_step=f"smelt dlq replay {found.dataset}"
        )
    if later is not None:
        raise Refused(
            f"{later[0]} has done something with {later[2]:,} letters of {found.run} since",
            data=_NOTHING,
            next_step=f"smelt dlq undo {later[0]}",
        )
    _refuse_without_letters(explorer, found)


def _wrote(explorer: Explorer, found: RunFound) -> bool:
    """Has it rows in a table? A file that was read again may bring some, and its letter be open still."""
    places = (f'{place}."{found.dataset}"' for place in ("bronze", "dead_letters"))
    counts = (f"select count(*) from {place} where _batch = $run" for place in places)  # noqa: S608
    return any(_number(explorer, count, found.run) for count in counts)


def _refuse_without_letters(explorer: Explorer, found: RunFound) -> None:
    """What retention has removed cannot be open again; letters that the run wrote may have a life of their own."""
    letters = f'dead_letters."{found.dataset}"'
    gone = _number(
        explorer,
        f"select count(*) from dead_letters.resolutions r anti join {letters} l using (_source, _position) "  # noqa: S608
        f"where r.run = $run and {_CLOSING}",
        found.run,
    )
    if gone:
        raise Refused(
            f"{gone:,} letters of {found.run} were removed since, because their time was up (dead_letters.keep)",
            data=_NOTHING,
            next_step=f"smelt dlq ls {found.dataset} --status all",
        )
    moved = explorer.execute(
        f"select run, count(*) from {letters} where _batch = $run and run is not null group by all limit 1",  # noqa: S608
        {"run": found.run},
    ).fetchone()
    if moved is not None:
        raise Refused(
            f"{moved[0]} has done something with {moved[1]:,} letters that {found.run} wrote",
            data=_NOTHING,
            next_step=f"smelt dlq undo {moved[0]}",
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
        "semi join (from dead_letters.resolutions where run = $run and outcome = 'failed' and raw is not null) "
        "using (_source, _position)"
    )
    for batch in explorer.execute(brought, {"run": found.run}).batches(BATCH_ROWS):
        more: dict[str, Any] = {name: batch.column(name) for name in ("reason", "errors", "raw", "raw_bytes")}
        desk.resolve(batch.select(IDENTITY), Outcome.REOPENED, **more)
    return count


def _receipts_before(runs: Runs, token: str) -> list[Receipt]:
    """Of each file that the run read again the receipt that it had before."""
    places = (BatchRecords(runs.lake.receipts(runs.dataset)), runs.records)
    done = sorted((one for records in places for one in records.done()), key=lambda one: one.ingested_at)
    sources = {one.unit.source for run in done if run.token == token for one in run.receipts}
    before = {one.unit.source: one for run in done if run.token != token for one in run.receipts}
    return [before[source] for source in sorted(sources) if source in before]


def _number(explorer: Explorer, question: str, run: str) -> int:
    row = explorer.execute(question, {"run": run}).fetchone()
    return int(row[0]) if row else 0


def _is_told(explorer: Explorer) -> bool:
    return any(str(table) == "dead_letters.resolutions" for table in explorer.tables)
