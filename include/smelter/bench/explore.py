"""`smelt bench explore`: questions of a lake's table beside plain DuckDB on the same files, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import duckdb

from smelter.bench.bronze_result import Ratio
from smelter.bench.explore_rows import MadeEvents, make_events
from smelter.bench.meters import machine
from smelter.bench.silver import Cost, markdown_table
from smelter.contracts import Contract
from smelter.explore import Explorer, connect
from smelter.explore.quoting import quoted_text
from smelter.lake.home import BRONZE, Lake

Say = Callable[[str], None]
Rows = list[tuple[Any, ...]]
COLUMNS = ("what, in ms", "smelter", "bare files", "every round of smelter", "every round of bare files")
OPENING = "opening, to the first answer"
WANTED = "1.3 or less"
_COUNT = "count(*)"
_QUESTIONS = {
    _COUNT: "select count(*) from {events}",
    "one day": "select count(*), count(distinct user_id), min(event_timestamp), max(event_timestamp) from {events}"
    " where _ingested_at >= {day} and _ingested_at < {next_day}",
    "group by": "select event_type, product_id, count(*), max(event_timestamp) from {events} group by all order by all",
    "one id": "select user_id, event_id, event_timestamp, event_type, product_id, properties, _source, _position"
    " from {events} where event_id = {event_id}",
}
_METHOD = """Smelter is `smelter.explore.connect`: a table of bronze by its name, at its newest snapshot, each question
checked to be one. Bare files are `read_parquet` of the very data files of that table, in plain DuckDB with UTC as its
time zone and as many threads. Both are open all the while and run in this process. They take turns, and take turns at
being first; the first round does not count, and the answers of every round are compared. The table is as the stream
leaves it: events of the shipped contract, a day of bronze to each commit, no maintenance; one day is asked by
`_ingested_at`, ids are in no order. An opening is `connect` and one `count(*)`, without the closing; the first of a
process also checks the signatures of DuckDB's extensions."""


@dataclass(frozen=True)
class Asked:
    """One question, with the cost of every round; the first of each does not count."""

    name: str
    smelter: tuple[Cost, ...]
    bare: tuple[Cost, ...]

    @property
    def ratios(self) -> Iterator[Ratio]:
        """Medians of ours, divided by those of the bare files."""
        wanted = "" if self.name == OPENING else WANTED
        yield Ratio(f"{self.name}: s, smelter / bare files", _ratio(self, _seconds), wanted)
        yield Ratio(f"{self.name}: CPU-s, smelter / bare files", _ratio(self, _cpu_seconds), "")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Time and processor time as rows of a table."""
        for word, what in (("", _seconds), (", CPU", _cpu_seconds)):
            sides = (self.smelter, self.bare)
            middles = (f"{_middle(costs, what) * 1000:.1f}" for costs in sides)
            yield f"{self.name}{word}", *middles, *(" ".join(f"{what(one) * 1000:.0f}" for one in c) for c in sides)


@dataclass(frozen=True)
class ExploreBench:
    """Everything that one run measured."""

    machine: dict[str, str]
    rows: int
    files: int
    bytes: int
    threads: int
    asked: tuple[Asked, ...]

    @property
    def ratios(self) -> list[Ratio]:
        """What the figures say, beside what is wanted."""
        return [ratio for asked in self.asked for ratio in asked.ratios]

    def table(self) -> Iterator[tuple[str, ...]]:
        """The figures as rows of a table, with every round."""
        for asked in self.asked:
            yield from asked.rows()

    def about(self) -> str:
        """What was asked."""
        return f"{self.rows:,} rows in {self.files:,} data files of {self.bytes / 1e6:,.0f} MB, {self.threads} threads."

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "ratios": [asdict(ratio) for ratio in self.ratios]}

    def as_markdown(self) -> str:
        """The page."""
        lines = ["# Questions, measured", "", "Made by `smelt bench explore --output docs/benchmarks`, in one run.", ""]
        lines += [", ".join(f"{name} {value}" for name, value in self.machine.items()), "", self.about(), ""]
        lines += [*markdown_table(COLUMNS, self.table()), ""]
        lines += markdown_table(("measure", "found", "wanted"), (ratio.cells() for ratio in self.ratios))
        return "\n".join([*lines, "", _METHOD]) + "\n"


def bench_explore(lake: Lake, shipped: Contract, size: tuple[int, int], rounds: int, say: Say) -> ExploreBench:
    """Make the table of so many rows and files, open it in turns, then ask in turns."""
    rows, files = size
    say(f"making {rows:,} rows in {files:,} files")
    made = make_events(lake, shipped, rows, files)
    assert len(made.files) == files, f"{len(made.files)} files were written, not {files}"
    tables = f"{BRONZE}.{shipped.dataset}", f"read_parquet([{', '.join(map(quoted_text, made.files))}])"
    asked = [_openings(lake, tables, rounds, say)]
    with connect(lake.root, catalog=lake.address) as explorer, _bare() as bare:
        threads = _threads(explorer, bare)
        for name in _QUESTIONS:
            ours, theirs = (_question(name, table, made) for table in tables)
            asked.append(_in_turns(name, _asking(explorer, ours), _asking(bare, theirs), rounds, say))
        assert explorer.execute(_question(_COUNT, tables[0], made)).fetchall() == [(rows,)]
    return ExploreBench(machine("pyiceberg", "duckdb"), rows, files, made.bytes, threads, tuple(asked))


def _openings(lake: Lake, tables: tuple[str, str], rounds: int, say: Say) -> Asked:
    """Both from nothing to an answer; they are closed afterwards, which is not measured."""
    counts = [_QUESTIONS[_COUNT].format(events=table) for table in tables]
    with ExitStack() as opened:
        ours = lambda: _ask(opened.enter_context(connect(lake.root, catalog=lake.address)), counts[0])  # noqa: E731
        return _in_turns(OPENING, ours, lambda: _ask(opened.enter_context(_bare()), counts[1]), rounds, say)


def _in_turns(name: str, ours: Callable[[], Rows], bare: Callable[[], Rows], rounds: int, say: Say) -> Asked:
    """Both, round by round, the one first and then the other; their answers must be the same."""
    costs: dict[Callable[[], Rows], list[Cost]] = {ours: [], bare: []}
    for number in range(rounds):
        answers = []
        for one in (ours, bare) if number % 2 else (bare, ours):
            answer, cost = _measured(one)
            answers.append(answer)
            costs[one].append(cost)
        assert answers[0] == answers[1] != [], f"{name}: {answers[0][:3]} and {answers[1][:3]}"
    asked = Asked(name, tuple(costs[ours]), tuple(costs[bare]))
    say(f"{name}: smelter {_middle(asked.smelter, _seconds):.3f} s, bare files {_middle(asked.bare, _seconds):.3f} s")
    return asked


def _measured(ask: Callable[[], Rows]) -> tuple[Rows, Cost]:
    started, used = time.monotonic(), time.process_time()  # DuckDB and the catalog that it asks are in this process
    answer = ask()
    return answer, Cost(round(time.monotonic() - started, 5), round(time.process_time() - used, 5))


def _question(name: str, events: str, made: MadeEvents) -> str:
    days = [quoted_text(day.isoformat()) for day in (made.day, made.day + timedelta(days=1))]
    return _QUESTIONS[name].format(events=events, day=days[0], next_day=days[1], event_id=quoted_text(made.event_id))


def _asking(of: Explorer | duckdb.DuckDBPyConnection, sql: str) -> Callable[[], Rows]:
    return lambda: _ask(of, sql)


def _ask(of: Explorer | duckdb.DuckDBPyConnection, sql: str) -> Rows:
    return of.execute(sql).fetchall()


def _bare() -> duckdb.DuckDBPyConnection:
    bare = duckdb.connect()
    bare.execute("set TimeZone = 'UTC'")
    return bare


def _threads(*both: Explorer | duckdb.DuckDBPyConnection) -> int:
    ours, bare = (one.execute("select current_setting('threads')").fetchall() for one in both)
    assert ours == bare, f"{ours} threads and {bare}"
    return int(ours[0][0])


def _ratio(asked: Asked, what: Callable[[Cost], float]) -> float:
    return _middle(asked.smelter, what) / _middle(asked.bare, what)


def _middle(rounds: tuple[Cost, ...], what: Callable[[Cost], float]) -> float:
    return statistics.median(what(one) for one in rounds[1:])


def _seconds(cost: Cost) -> float:
    return cost.seconds


def _cpu_seconds(cost: Cost) -> float:
    return cost.cpu_seconds
