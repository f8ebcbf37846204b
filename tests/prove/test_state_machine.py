"""Anything may follow anything: a machine that produces, ingests, crashes, restarts, loses and tidies, beside a model.

The short form is the same each time. EXAMPLES=500 makes it a long one, with other examples each time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from model import File, Model
from small_spark import SmallSpark

from smelter.bronze import recovery
from smelter.bronze.batch import Bronze
from smelter.bronze.query import _unit
from smelter.bronze.spread import Here
from smelter.bronze.stream import Hooks, _catch_up, driving
from smelter.errors import Refused
from smelter.lake.checkpoint import Listed
from smelter.lake.evolution import apply_contract
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.sources import source_of
from smelter.lake.tables import find_table
from smelter.prove.account import Account, account_of
from smelter.prove.ore import Mine, contract_of
from smelter.prove.scene import Crash, at
from smelter.records import Limits
from smelter.settings import Settings

EXAMPLES = int(os.environ.get("EXAMPLES", "0"))
NAME = "orders"
SEEDS = st.integers(0, 2**32)
POINTS = ("offsets_written", "planned", "judged", "prepared", "between_commits", "committed", "done")


class Stream(RuleBasedStateMachine):
    """One dataset of a lake of its own; the model is told what happens and never asks the lake."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="smelter-machine-"))
        self.lake = Lake.at(Settings(lake=self.folder / "lake"))
        self.contract = contract_of(NAME)
        self.landing = self.lake.landing(self.contract)
        self.landing.mkdir(parents=True)
        self.model = Model()
        self.clock = 10**9
        self.number = 0
        self.has_tables = False
        self.is_refused = False  # receipts are lost, and nothing goes on before a recovery

    def teardown(self) -> None:
        """Whatever was left open is finished, and then every file that was ever there is accounted for."""
        try:
            self.recover() if self.is_refused else self.ingest(files=1, seed=0, max_files=3)
            assert self.model.waiting() == []
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    @rule(files=st.integers(1, 3), seed=SEEDS)
    def produce(self, files: int, seed: int) -> None:
        for number in range(files):
            self.number += 1
            self._write(f"{self.number:04}.json", seed + number)

    @precondition(lambda self: not self.is_refused)
    @rule(files=st.integers(0, 3), seed=SEEDS, max_files=st.integers(1, 3))
    def ingest(self, files: int, seed: int, max_files: int) -> None:
        self.produce(files, seed)
        self._drain(max_files, lambda _point: None)
        assert self._account() == []

    @precondition(lambda self: not self.is_refused)
    @rule(
        point=st.sampled_from(POINTS),
        nth=st.integers(1, 2),
        files=st.integers(1, 3),
        seed=SEEDS,
        max_files=st.integers(1, 3),
        then=st.sampled_from(["nothing", "delete", "replace", "care"]),
    )
    def crash(self, point: str, nth: int, files: int, seed: int, max_files: int, then: str) -> None:
        def end() -> None:
            raise Crash

        self.produce(files, seed)
        with suppress(Crash):
            self._drain(max_files, at(point, nth, end))
        self._check()
        if then == "care":
            self.care(is_expired=True)
        elif then != "nothing":
            self.meddle(which=seed, is_deleted=then == "delete", seed=seed)

    @precondition(lambda self: self.model.files)
    @rule(which=st.integers(0, 2**16), is_deleted=st.booleans(), seed=SEEDS)
    def meddle(self, which: int, is_deleted: bool, seed: int) -> None:
        there = [source for source, one in self.model.files.items() if not one.is_gone]
        there = [source for source in there if self.model.is_open(source)] or there
        if not there:
            return
        source = there[which % len(there)]
        path = self.landing / source.rpartition("/")[2]
        if is_deleted:
            path.unlink()
            self.model.files[source].is_gone = True
        else:
            self._write(path.name, seed)

    @precondition(lambda self: self.model.version == 1 and self.has_tables)
    @rule()
    def change_contract(self) -> None:
        self.contract = contract_of(NAME, version=2)
        apply_contract(self.lake, self.contract)
        self.model.version = 2

    @precondition(lambda self: self.has_tables)
    @rule(is_expired=st.booleans())
    def care(self, is_expired: bool) -> None:
        """Somebody compacts both tables, and perhaps expires all but the newest snapshot."""
        for namespace in (BRONZE, DEAD_LETTERS):
            table = find_table(self.lake, namespace, NAME)
            assert table is not None
            if table.current_snapshot() is not None:
                table.overwrite(table.scan().to_arrow())
            newest = table.metadata.current_snapshot_id
            old = [one.snapshot_id for one in table.metadata.snapshots if one.snapshot_id != newest]
            if old and is_expired:
                table.maintenance.expire_snapshots().by_ids(old).commit()
        self._check()

    @rule(
        part=st.sampled_from(["all", "metadata", "commits", "offsets", "sources/0"]),
        which=st.integers(0, 9),
        is_cut=st.booleans(),
    )
    def drop_checkpoint(self, part: str, which: int, is_cut: bool) -> None:
        checkpoint = self.lake.checkpoint(NAME)
        if not checkpoint.exists():
            return
        if part == "all":
            shutil.rmtree(checkpoint)
            return
        place = checkpoint / part
        entries = sorted(place.iterdir(), key=lambda path: int(path.name)) if place.is_dir() else [place]
        for entry in [one for one in entries if one.exists()][-1 - which % 3 :][:1]:
            entry.write_bytes(entry.read_bytes()[:9]) if is_cut else entry.unlink()

    @precondition(lambda self: not self.is_refused and not self.model.pending and self._done())
    @rule(which=st.integers(0, 2**16), is_all=st.booleans())
    def lose_receipts(self, which: int, is_all: bool) -> None:
        paths = self._done()
        for path in paths if is_all else [paths[which % len(paths)]]:
            path.unlink()
        if is_all:
            shutil.rmtree(self.lake.receipts(NAME))
            self.model.forget_plans()
        self.is_refused = True

    @precondition(lambda self: self.is_refused)
    @rule()
    def is_refused_over_lost_receipts(self) -> None:
        before = self._found()
        with pytest.raises(Refused) as refusal:
            self._drain(3, lambda _point: None)
        assert "--recover" in refusal.value.next_step
        assert self._found() == before

    @precondition(lambda self: self.is_refused)
    @rule()
    def recover(self) -> None:
        with patch.object(recovery, "OnSpark", lambda _session: Here()):
            recovery.recover(self.lake, self.contract, Limits(), None, object())  # type: ignore[arg-type]
        self.model.read_again()
        self.is_refused = False
        self._check()
        self.ingest(files=0, seed=0, max_files=3)  # files that were planned and are gone are told now

    def _check(self) -> None:
        """What holds at any moment: nothing is doubled or from nowhere, and what is missing is in an intent."""
        found = self._found()
        assert (found.doubled, found.unexplained) == ((), ())
        assert not found.lost or self.model.pending

    def _drain(self, max_files: int, end: Callable[[str], None]) -> None:
        """A driver from its start to its end, or to its crash, with tasks in this process."""

        def reach(point: str) -> None:
            self.model.reach(point)
            end(point)

        def take_in(listed: Sequence[Listed], origin: str, number: int) -> None:
            self.model.hand_out({source_of(one.path): one.modified_ns for one in listed})
            reach("offsets_written")
            bronze.take_in([_unit(one) for one in listed], origin, number)

        hooks = Hooks(reach=reach)
        with driving(self.lake, NAME, hooks) as pulse:
            bronze = Bronze(self.lake, self.contract, Limits(), Here(), hooks.reach)
            self.has_tables = True
            self.model.is_catching_up, self.model.batch = True, {}
            _catch_up(bronze, pulse)
            self.model.is_catching_up = False
            SmallSpark(self.lake.checkpoint(NAME), self.landing, max_files).run(take_in)

    def _write(self, name: str, seed: int) -> None:
        """Write a file whole, each time at a later second."""
        content = Mine(Random(seed)).file(new=1)
        self.clock += 1
        aside = self.landing / f".{name}"
        aside.write_bytes(content.data)
        os.utime(aside, (self.clock, self.clock))
        path = aside.rename(self.landing / name)
        moment = path.stat().st_mtime_ns
        one = self.model.files.setdefault(source_of(path), File(content.items, moment))
        one.items, one.modified = content.items, moment

    def _account(self) -> list[str]:
        found = self._found()
        return [str(one) for one in (*found.lost, *found.doubled, *found.unexplained, *found.wrong)]

    def _found(self) -> Account:
        return account_of(self.lake, NAME, self.model.sent())

    def _done(self) -> list[Path]:
        return sorted(self.lake.receipts(NAME).glob("*.done.json"))


TestStream = Stream.TestCase
TestStream.settings = settings(
    max_examples=EXAMPLES or 8,
    stateful_step_count=40 if EXAMPLES else 25,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    print_blob=False,
    phases=list(Phase) if EXAMPLES else [Phase.generate],  # to make a failure small takes minutes
    suppress_health_check=list(HealthCheck),
)
