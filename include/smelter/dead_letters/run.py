"""One run over the dead letters of a dataset: prepared, committed, done; one at a time, and what was begun is finished.

Safe to kill between any two lines and to repeat: before `prepare` nothing is in a table; after it the run is finished
by the next one from its intent, and a commit that is there is not made again.
"""

from __future__ import annotations

import errno
import getpass
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table

from smelter.bronze.commit import commit_intent
from smelter.bronze.work import Trouble
from smelter.contracts import Contract
from smelter.dead_letters.work import Work
from smelter.errors import Unreachable
from smelter.lake.batches import Intent, Receipt
from smelter.lake.commits import Commit, is_committed, newest_told
from smelter.lake.data_files import TableShape
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, Lease, lease
from smelter.lake.removal import remove_batch
from smelter.lake.tables import ACTIVE, active_contract, ensure_tables, load_table
from smelter.lake.written import WrittenFile
from smelter.records import Limits

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Hooks:
    """Who is told what happens."""

    say: Callable[[str], None] = lambda _line: None
    reach: Callable[[str], None] = lambda _point: None  # named points, for those who break things there


NO_HOOKS = Hooks()


class Runs:
    """The runs over one dataset's letters, for whoever holds the lease."""

    def __init__(
        self,
        lake: Lake,
        dataset: str,
        limits: Limits,
        hooks: Hooks = NO_HOOKS,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
        held: Lease | None = None,
    ) -> None:
        """`held` is the lease of the letters; whoever only looks needs none."""
        self.lake, self.dataset, self.limits, self.hooks, self.held = lake, dataset, limits, hooks, held
        self.bronze, self.letters = (load_table(lake, name, dataset) for name in (BRONZE, DEAD_LETTERS))
        self.resolutions = load_table(lake, DEAD_LETTERS, RESOLUTIONS)
        self.contract: Contract = active_contract(self.bronze)
        self.records = lake.letter_batches(dataset)
        self._wait_seconds = wait_seconds

    def finish_prepared(self) -> None:
        """Finish the run that somebody killed, or take it back where its data files are gone."""
        self.records.remove_leftovers()
        for intent in self.records.prepared():
            if self._has_lost_files(intent):
                self._take_back(intent)
                self.hooks.say(
                    f"{intent.token} was begun, and its data files are gone: taken back, its letters are open"
                )
            else:
                with self._bronze_lease(intent):
                    self._commit(intent, may_be_there=True)
                self.hooks.say(f"{intent.token} was begun and not finished; it is finished now")

    def new(self, action: str) -> Work:
        """What the tasks of a new run must know: its token, its one moment, the contract that is active now."""
        moment = max(datetime.now(UTC), (self._newest() or datetime.min.replace(tzinfo=UTC)) + _TICK)
        return Work(
            token=f"{action}:{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
            action=action,
            moment=moment,
            who=who_am_i(),
            contract=self.bronze.properties[ACTIVE],
            limits=self.limits,
            bronze=TableShape.of(self.bronze),
            resolutions=TableShape.of(self.resolutions),
        )

    def commit(
        self,
        work: Work,
        resolutions: Iterable[WrittenFile],
        bronze: Iterable[WrittenFile] = (),
        letters: Iterable[WrittenFile] = (),
        receipts: Iterable[Receipt] = (),
        removes: Iterable[str] = (),
    ) -> None:
        """Write the intent down, then commit what it says."""
        tables = {BRONZE: self.bronze, DEAD_LETTERS: self.letters}
        intent = Intent(
            token=work.token,
            sequence=self.records.last_sequence() + 1,
            contract=self.contract.label,
            ingested_at=work.moment,
            receipts=list(receipts),
            bronze=list(bronze),
            letters=list(letters),
            limits=asdict(self.limits),
            tables={name: str(table.metadata.table_uuid) for name, table in tables.items()},
            resolutions=list(resolutions),
            removes=list(removes),
        )
        self.hooks.reach("judged")
        with self._bronze_lease(intent):  # before the intent: whoever waits in vain has begun nothing
            self.records.prepare(intent)
            self.hooks.reach("prepared")
            self._commit(intent, may_be_there=False)

    def _commit(self, intent: Intent, *, may_be_there: bool) -> None:
        snapshots = commit_intent(self.lake, self.dataset, intent, self.hooks.reach, may_be_there=may_be_there)
        self.hooks.reach("committed")
        self.records.finish(intent, snapshots)
        self.hooks.reach("done")

    def _bronze_lease(self, intent: Intent, *, is_taken_back: bool = False) -> AbstractContextManager[Lease | None]:
        """Where rows leave bronze, nobody may write its files anew meanwhile."""
        if not intent.removes and not is_taken_back:
            return nullcontext()
        what = f"smelt dlq, {intent.token}"
        return lease(self.lake, BRONZE, self.dataset, what, self._wait_seconds, self.hooks.say)

    def _has_lost_files(self, intent: Intent) -> bool:
        places = ((self.letters, intent.letters, _ROWS), (self.bronze, intent.bronze, _ROWS))
        for table, files, columns in (*places, (self.resolutions, intent.resolutions, _RESOLUTIONS)):
            commit = Commit(intent.token, intent.ingested_at, files, {}, columns)
            if files and not is_committed(table, commit, ask_rows=True) and _some_are_gone(table, files):
                return True
        return False

    def _take_back(self, intent: Intent) -> None:
        """Resolutions come last: as long as they are not there, rows can go and the letters are open as before."""
        with self._bronze_lease(intent, is_taken_back=True):
            for table in (self.bronze, self.letters):
                remove_batch(table, intent.token, intent.token)
        self.records.forget_intent(intent)

    def _newest(self) -> datetime | None:
        moments = [one.ingested_at for one in self.records.done()]
        told = newest_told(self.bronze, self.letters, self.resolutions)
        return max([*moments, *([told] if told else [])], default=None)


_ROWS, _RESOLUTIONS = ("_batch", "_ingested_at"), ("run", "resolved_at")


@contextmanager
def running(
    lake: Lake,
    dataset: str,
    limits: Limits,
    what: str,
    hooks: Hooks = NO_HOOKS,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Iterator[Runs]:
    """Be the only one who changes what letters are; a run that was interrupted is finished first."""
    ensure_tables(lake, active_contract(load_table(lake, BRONZE, dataset)))  # resolutions may be of an older version
    with lease(lake, DEAD_LETTERS, dataset, what, wait_seconds, hooks.say) as held:
        Runs(lake, dataset, limits, hooks, wait_seconds, held).finish_prepared()
        yield Runs(lake, dataset, limits, hooks, wait_seconds, held)


def who_am_i() -> str:
    """Who runs it, for the history."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def raise_trouble(trouble: Trouble | None) -> None:
    """Say why a task could not write, if it could not."""
    if trouble is not None:
        is_full = trouble.number in (errno.ENOSPC, errno.EDQUOT)
        raise Unreachable(
            "the disk is full" if is_full else f"data files cannot be written: {trouble.message}",
            where=trouble.where,
            data="nothing was changed; every letter is as it was",
            next_step="free some room and run it again" if is_full else "mend it and run it again",
        )


def _some_are_gone(table: Table, files: Iterable[WrittenFile]) -> bool:
    return any(not table.io.new_input(file.path).exists() for file in files)
