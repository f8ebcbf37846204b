"""A stream with its dead letters: what is done to them, and all that its tables hold, so that it can be compared."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bronze.streams import LIMITS, Stream
from smelter.bronze.batch import Bronze
from smelter.bronze.spread import Here
from smelter.bronze.stream import Hooks as StreamHooks
from smelter.contracts import Contract, parse_contract
from smelter.dead_letters.discard import Discarded, discard
from smelter.dead_letters.edit import Edited, edit
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.plan import Plan, plan
from smelter.dead_letters.replay import ReplayReport, Wishes, replay
from smelter.dead_letters.retention import Retired, retire
from smelter.dead_letters.run import NO_HOOKS, Hooks
from smelter.dead_letters.undo import Undone, undo
from smelter.explore import Explorer, connect
from smelter.lake.evolution import apply_contract
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.sources import path_of, source_of
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile

ARRIVED = 1_700_000_000  # of the first file; each later one comes a second after it
COUPON = "  coupon: {type: string}\n"
GOOD, COUPONED, BAD = {"id": 1}, {"id": 2, "coupon": "SPRING"}, {"id": "not a number"}
Row = dict[str, Any]
_OWN = ("_ingested_at", "resolved_at", "age", "_id", "who")  # differs from run to run, or from lake to lake


def orders(version: int = 1, fields: str = "", rest: str = "", dataset: str = "orders") -> Contract:
    """A contract with a number and a note, and whatever else is wanted."""
    text = (
        f"dataset: {dataset}\nversion: {version}\nfields:\n  id: {{type: long, required: true}}\n"
        f"  note: {{type: string}}\n{fields}source: {{files: landing/{dataset}}}\n{rest}"
    )
    return parse_contract(text, f"{dataset}.yaml")


def lines(*records: Row | str | bytes) -> bytes:
    """One record a line; a text is written as it is."""
    texts = (one if isinstance(one, str | bytes) else json.dumps(one, ensure_ascii=False) for one in records)
    return b"".join((one if isinstance(one, bytes) else one.encode()) + b"\n" for one in texts)


class Box(Stream):
    """A stream, and what is done to its letters."""

    def __init__(self, lake: Lake, contract: Contract | None = None) -> None:
        super().__init__(lake, contract or orders())
        self.limits = LIMITS
        self._explorer: Explorer | None = None
        self._moments = itertools.count(ARRIVED)

    def arrive(self, name: str, *records: Row | str | bytes) -> Path:
        """One file becomes one batch."""
        return self.arrive_bytes(name, lines(*records))

    def arrive_bytes(self, name: str, data: bytes) -> Path:
        path = self.put(name, data, modified=next(self._moments))
        self.drain_here()
        return path

    def rewrite(self, name: str, data: bytes) -> Path:
        """Somebody mends a file, or writes another one in its place; nobody is told."""
        return self.put(name, data, modified=next(self._moments))

    def become(self, version: int = 2, fields: str = COUPON, rest: str = "") -> None:
        """Another contract is the active one from now on."""
        self.contract = orders(version, fields, rest, self.name)
        apply_contract(self.lake, self.contract, from_now_on=True)

    def bronze(self, hooks: StreamHooks | None = None) -> Bronze:
        hooks = hooks or StreamHooks()
        return Bronze(self.lake, self.contract, self.limits, Here(), hooks.reach, hooks.task_reach)

    def plan(self, contract: Contract | None = None, **filters: Any) -> Plan:
        return plan(self.lake, self.name, Filters(**filters), self.limits, contract)

    def replay(self, *, hooks: Hooks = NO_HOOKS, wait: float = 60, auto: bool = False, **filters: Any) -> ReplayReport:
        wishes = Wishes(wait, only_passing=auto)
        return replay(self.lake, self.name, Filters(**filters), self.limits, wishes, hooks)

    def replayed(self, **words: Any) -> str:
        """The name of a replay that had something to do."""
        run = self.replay(**words).run
        assert run is not None
        return run

    def edit(self, name: str, position: int, corrected: Row | str | bytes, **words: Any) -> Edited:
        text = lines(corrected).rstrip(b"\n")
        return edit(self.lake, self.name, self.id_of(name, position), text, self.limits, **words)

    def discard(
        self, because: str = "a test", *, hooks: Hooks = NO_HOOKS, wait: float = 60, **filters: Any
    ) -> Discarded:
        return discard(self.lake, self.name, Filters(**filters), because, self.limits, hooks, wait)

    def undo(self, run: str, **words: Any) -> Undone:
        return undo(self.lake, run, self.limits, **words)

    def retire(self, **words: Any) -> Retired:
        return retire(self.lake, self.name, self.limits, **words)

    def id_of(self, name: str, position: int) -> str:
        (found,) = (one["_id"] for one in self.letters() if (one["file"], one["_position"]) == (name, position))
        return str(found)

    def rows(self) -> list[Row]:
        """Every row, whole but for names of runs and moments."""
        return _comparable(load_table(self.lake, BRONZE, self.name).scan().to_arrow().to_pylist())

    def letters(self) -> list[Row]:
        """Every letter with its status, as DuckDB tells."""
        if self._explorer is None:  # it is open as long as the box is there
            self._explorer = connect(self.lake.root, catalog=self.lake.address)
        question = f'from dead_letters."{self.name}" order by _source, _position'
        rows = self._explorer.execute(question).arrow().to_pylist()
        return [row | {"file": _file(row["_source"])} for row in rows]

    def resolutions(self) -> list[Row]:
        """Everything that was ever done to its letters, in the order of time."""
        rows = load_table(self.lake, DEAD_LETTERS, RESOLUTIONS).scan(f"dataset = '{self.name}'").to_arrow().to_pylist()
        return sorted(rows, key=lambda row: (row["resolved_at"], row["_source"], row["_position"]))

    def statuses(self) -> dict[tuple[str, int], str]:
        return {(one["file"], one["_position"]): one["status"] for one in self.letters()}

    def ids(self) -> list[int]:
        """The numbers of the records that are in bronze."""
        return sorted(row["id"] for row in self.rows())

    def attempts(self) -> dict[tuple[str, int], int]:
        return {(one["file"], one["_position"]): one["attempts"] for one in self.letters()}

    def wrongs(self) -> list[Row]:
        """Open letters, and what is wrong with each."""
        kept = ("file", "_position", "reason", "errors", "raw")
        return [{name: one[name] for name in kept} for one in self.letters() if one["status"] == "open"]

    def state(self) -> State:
        return State(self.rows(), _comparable(self.letters()), _comparable(self.resolutions()))

    def source(self, name: str) -> str:
        return source_of(self.landing / name)

    def check(self) -> None:
        """Each record is in exactly one place."""
        problems = reconcile(self.lake, self.name).problems
        assert not problems, "\n".join(map(str, problems))

    def check_that_none_is_hidden(self) -> None:
        """Whoever reads bronze and standing letters at this moment misses no record that was ever read."""
        standing = {one for one, status in self.statuses().items() if status in ("open", "discarded")}
        told = {(one["file"], one["_position"]) for one in self.letters()}
        rows = {(row["file"], row["_position"]) for row in self.rows()}
        assert told <= standing | rows, sorted(told - standing - rows)


@dataclass(frozen=True)
class State:
    """All that the tables of a dataset hold, but for names of runs and moments."""

    bronze: list[Row]
    letters: list[Row]
    resolutions: list[Row]


def _comparable(rows: list[Row]) -> list[Row]:
    kept = [{name: _nameless(name, row[name]) for name in row if name not in _OWN} for row in rows]
    for row in kept:
        row["file"] = _file(row.pop("_source"))
    return sorted(kept, key=lambda row: (row["file"], row["_position"], str(row)))


def _nameless(column: str, value: Any) -> Any:
    """`replay` for `replay:20261118-133619-5d0a`; the stream's own names hold the path of the lake."""
    if column in ("_batch", "run") and value is not None:
        return str(value).partition(":")[0]
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return value


def _file(source: str) -> str:
    return path_of(source).name + ("#" + source.partition("#")[2] if "#" in source else "")
