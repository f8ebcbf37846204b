"""A person is forgotten: every row of theirs leaves, and only identities stay, so that nothing brings a record back.

Safe to kill between any two lines and to repeat: identities are noted before the first row leaves, each table loses its
rows in one commit, and the next run, whatever its condition, finishes what was begun. Silver and gold follow by their
own runs: bronze's history tells them who left.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import And, EqualTo, In

from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.lake.derived import move_bookmark
from smelter.lake.forgotten import BECAUSE, Why, note_forgotten
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.identities import Positions
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, Lease, lease
from smelter.lake.recoveries import is_recovering
from smelter.lake.removal import FORGOT, IDENTITY, REMOVAL, among, remove_identities, remove_rows
from smelter.lake.tables import active_contract, ensure_tables, load_table
from smelter.maintenance.forget_emptied import empty_letters, empty_resolutions
from smelter.maintenance.forget_examples import NO_EXAMPLES, Examples, forget_examples
from smelter.maintenance.forget_found import Found, look_for
from smelter.maintenance.forget_words import read_condition
from smelter.supervise.lock import RECOVER as RECOVERS
from smelter.supervise.lock import holder

_BATCH_SECONDS = 10.0  # a living stream commits what it has prepared long before that
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Hooks:
    """Who is told what happens."""

    say: Callable[[str], None] = lambda _line: None
    reach: Callable[[str], None] = lambda _point: None  # named points, for those who break things there


NO_HOOKS = Hooks()


@dataclass(frozen=True)
class Forgotten:
    """What one run let go, or would."""

    dataset: str
    contract: Contract
    found: Found
    at: datetime
    run: str | None = None  # nothing if there was nobody, or it was only asked
    examples: Examples = NO_EXAMPLES


def would_forget(lake: Lake, dataset: str, where: str) -> Forgotten:
    """Who is meant, and where; changes nothing."""
    contract = active_contract(load_table(lake, BRONZE, dataset))
    found = look_for(lake, contract, read_condition(where, contract))
    return Forgotten(dataset, contract, found, datetime.now(UTC))


def forget(
    lake: Lake,
    dataset: str,
    where: str,
    because: str = "",
    hooks: Hooks = NO_HOOKS,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Forgotten:
    """Let every row of the person leave bronze and dead letters, and tell silver. Works beside a running stream.

    Records that arrive while it runs are not looked at: run it again for them.
    """
    contract = active_contract(load_table(lake, BRONZE, dataset))
    condition = read_condition(where, contract)
    ensure_tables(lake, contract)  # resolutions may be of an older version
    with _alone(lake, dataset, hooks, wait_seconds):
        _let_batches_end(lake, dataset, hooks)
        found = look_for(lake, contract, condition)
        at = datetime.now(UTC)
        examples = forget_examples(lake, dataset, found.identities, wait_seconds, hooks.say)
        if found.is_nobody:
            return Forgotten(dataset, contract, found, at, examples=examples)
        hooks.reach("found")
        run = f"forget:{at:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        departure = _Departure(lake, dataset, run, because, hooks, wait_seconds)
        departure.empty(found)
        note_forgotten(lake, dataset, found.identities, run, Why.FORGET, at, because)
        hooks.reach("noted")
        departure.leave(found)
        return Forgotten(dataset, contract, found, at, run, examples)


@contextmanager
def _alone(lake: Lake, dataset: str, hooks: Hooks, wait_seconds: float) -> Iterator[None]:
    """Nobody else changes letters, or writes files of bronze anew; in the order in which undo takes these two."""
    what = f"smelt forget {dataset}"  # not whom: a lease is a file that others read
    with (
        lease(lake, DEAD_LETTERS, dataset, what, wait_seconds, hooks.say),
        lease(lake, BRONZE, dataset, what, wait_seconds, hooks.say),
    ):
        yield


def _let_batches_end(lake: Lake, dataset: str, hooks: Hooks) -> None:
    """What is prepared and not committed may hold rows of the person: a living stream is waited for, briefly.

    A recovery brings back what is in no table, so it comes first; one that begins now waits for the lease that we hold.
    """
    driver = holder(lake.run_folder(dataset))
    if is_recovering(lake, dataset) or (driver is not None and driver.role == RECOVERS):
        raise Refused(
            f"a recovery of {dataset} was begun and has not ended: records of the person may be in no table just now",
            data="nothing was changed",
            next_step=f"smelt ingest {dataset} --recover ends it; then run this again",
        )
    if waiting := lake.letter_batches(dataset).prepared():
        raise _unfinished(waiting[0].token, f"smelt dlq retire {dataset}")
    batches, end = lake.batches(dataset), time.monotonic() + _BATCH_SECONDS
    tokens = {intent.token for intent in batches.prepared()}
    if tokens:
        hooks.say(f"{dataset} is committing a batch; waiting up to {_BATCH_SECONDS:.0f} s")
    while tokens & {intent.token for intent in batches.prepared()}:
        if time.monotonic() >= end:
            raise _unfinished(min(tokens), f"smelt ingest {dataset} --drain")
        time.sleep(_POLL_SECONDS)


def _unfinished(token: str, command: str) -> Refused:
    return Refused(
        f"{token} is prepared and not committed, and may hold rows of the person",
        data="nothing was changed",
        next_step=f"{command} finishes it; then run this again",
    )


@dataclass(frozen=True)
class _Departure:
    """Rows leave, one table after the other. Letters go before what became of them: else one that went home would be
    open for a moment, and in two places."""

    lake: Lake
    dataset: str
    run: str
    because: str
    hooks: Hooks
    wait_seconds: float

    @property
    def _summary(self) -> dict[str, str]:
        return {REMOVAL: self.run, **({BECAUSE: self.because} if self.because else {})}

    def empty(self, found: Found) -> None:
        """Before identities are noted: what is noted is ended by the next run, whatever its condition."""
        if not found.emptied:
            return
        with self._resolutions_lease():
            empty_resolutions(self.lake, self.dataset, found.emptied, self._summary)
        self.hooks.reach("resolutions_emptied")
        empty_letters(self.lake, self.dataset, found.emptied, self._summary)
        self.hooks.reach("letters_emptied")

    def leave(self, found: Found) -> None:
        summary = self._summary
        remove_identities(load_table(self.lake, DEAD_LETTERS, self.dataset), found.identities, summary)
        self.hooks.reach("letters_left")
        self._resolutions(found.identities, summary)
        self.hooks.reach("resolutions_left")
        bronze, told = load_table(self.lake, BRONZE, self.dataset), {**summary, FORGOT: self.run}
        if not remove_identities(bronze, found.identities, told) and found.silver:
            move_bookmark(bronze, told)  # bronze has none of them, and silver must hear of it
        self.hooks.reach("bronze_left")

    def _resolutions(self, identities: Mapping[str, Positions], summary: Mapping[str, str]) -> None:
        is_record = among(identities)

        def is_gone(rows: pa.RecordBatch) -> pa.Array:
            return pc.and_(pc.equal(rows.column("dataset"), self.dataset), is_record(rows))

        where = And(EqualTo(term="dataset", value=self.dataset), In(term="_source", literals=set(identities)))
        with self._resolutions_lease():
            table = load_table(self.lake, DEAD_LETTERS, RESOLUTIONS)
            remove_rows(table, where, ("dataset", *IDENTITY), is_gone, summary)

    def _resolutions_lease(self) -> AbstractContextManager[Lease]:
        what = f"smelt forget {self.dataset}"
        return lease(self.lake, DEAD_LETTERS, RESOLUTIONS, what, self.wait_seconds, self.hooks.say)
