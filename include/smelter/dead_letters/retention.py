"""Closed letters go when their time is up: `dead_letters.keep` of the contract. An open letter never does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyiceberg.expressions import LessThan

from smelter.contracts.times import seconds_of
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters
from smelter.dead_letters.run import NO_HOOKS, Hooks, running
from smelter.lake.home import Lake
from smelter.lake.identities import positions_of_rows
from smelter.lake.lease import DEFAULT_WAIT_SECONDS
from smelter.lake.removal import IDENTITY, REMOVAL, among, remove_rows
from smelter.records import Limits

_IS_OVER = "status <> 'open' and resolved_at < $before"


@dataclass(frozen=True)
class Retired:
    """What retention removed, or would."""

    dataset: str
    keep: str | None  # nothing if the contract keeps letters for ever
    letters: int = 0


def retire(
    lake: Lake,
    dataset: str,
    limits: Limits,
    *,
    dry_run: bool = False,
    hooks: Hooks = NO_HOOKS,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Retired:
    """Remove letters that were closed so long ago; what happened to them stays told.

    Safe to kill and to repeat: one commit, and what has left is not found again.
    """
    with running(lake, dataset, limits, f"smelt dlq retire {dataset}", hooks, wait_seconds) as runs:
        keep = runs.contract.dead_letters.keep
        if keep is None:
            return Retired(dataset, None)
        before = datetime.now(UTC) - timedelta(seconds=seconds_of(keep))
        with Letters(lake, dataset) as letters:
            over = letters.ask("select _source, _position", Filters(status=None), _IS_OVER, before=before).arrow()
        if over.num_rows and not dry_run:
            where = LessThan(term="_ingested_at", value=before.isoformat())  # a letter is older than what became of it
            run = runs.new("retire").token
            remove_rows(runs.letters, where, IDENTITY, among(positions_of_rows(over)), {REMOVAL: run})
        return Retired(dataset, keep, over.num_rows)
