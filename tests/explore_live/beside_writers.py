"""DuckDB is asked without a pause while a stream commits, and maintenance packs and expires. Long: `make soak`.

What every answer is compared with is the table's own history, which is written down as it comes, and what was sent.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from companions import PATIENCE_SECONDS, Landing, again_and_again, running, wait_until
from histories import History
from questions import Asker, Batches, States

from smelter.explore import connect
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.ledger.reconcile import reconcile
from smelter.prove.processes import QUICK_JVM
from smelter.settings import Settings, load_settings

NAME = "events"
THREADS = 4
HERE = Path(__file__).parent
CONTRACT = f"""
dataset: {NAME}
version: 1
fields:
  sequence: {{type: long, required: true}}
  note: {{type: string}}
source: {{files: landing/{NAME}}}
maintenance: {{snapshots: 1m, most_snapshots: 10, quiet: 5s, target_file: 1MB}}
"""
AHEAD_SECONDS = 50  # so that a snapshot is let go ten seconds after a newer one came
RETENTION_SECONDS = 60


@dataclass
class Found:
    """What became of it."""

    seconds: float = 0.0
    reads: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    commits: int = 0
    compactions: int = 0
    expired: int = 0
    most_behind: int = 0  # commits that came while a question was answered, and are not in its answer

    def summary(self) -> str:
        """The figures, on one line."""
        return (
            f"{self.reads.total():,} reads by {THREADS} threads in {self.seconds:.0f} s, {len(self.wrong)} wrong; "
            f"beside {self.commits} commits, {self.compactions} compactions and {self.expired} snapshots that went; "
            f"at most {self.most_behind} commits came during a question; {dict(self.reads)}"
        )


def read_beside_writers(folder: Path, seconds: float, *, by_command: bool = False) -> Found:
    """Read for so long, and until maintenance has packed and expired while we read; then compare everything.

    `by_command`: maintenance is `smelt maintain run`, again and again, and the stream runs for longer than the shortest
    retention before anything is read. Otherwise one process does it all the while, by a clock that goes ahead.
    """
    lake = Lake.at(Settings(lake=folder / "la ke", jars=load_settings().values.jars))
    (folder / "contracts").mkdir()
    (folder / "contracts" / f"{NAME}.yaml").write_text(CONTRACT)
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SMELTER_")},
        "JDK_JAVA_OPTIONS": QUICK_JVM,
        "SMELTER_LAKE": str(lake.root),
        "SMELTER_CONTRACTS": str(folder / "contracts"),
        "SMELTER_JARS": str(lake.jars),
        "SMELTER_TRIGGER_SECONDS": "0.2",
    }
    landing, found = Landing(lake.root / "landing" / NAME), Found()
    history = {space: History(lake, space, NAME) for space in (BRONZE, DEAD_LETTERS)}
    smelt, over = str(Path(sys.executable).with_name("smelt")), threading.Event()
    care = [smelt, "maintain", "run", f"{BRONZE}.{NAME}", f"{DEAD_LETTERS}.{NAME}"]
    if not by_command:
        care = [sys.executable, str(HERE / "eager_care.py"), str(lake.root), NAME, str(AHEAD_SECONDS)]
    caring = again_and_again if by_command else running
    producer = threading.Thread(target=landing.arrive_until, args=(over,))
    with running([smelt, "ingest", NAME, "--follow"], environ, folder / "driver.log", found.wrong):
        producer.start()
        try:
            wait_until(lambda: all(one.look().rows for one in history.values()), "rows came")
            time.sleep(RETENTION_SECONDS if by_command else 0)
            with caring(care, environ, folder / "care.log", found.wrong):
                askers = _read(lake, history, found, seconds)
        finally:
            over.set()
            producer.join()
        wait_until(
            lambda: history[BRONZE].look().rows >= landing.records or bool(found.wrong), "all that arrived was taken in"
        )
    _compare(lake, landing, askers, found)
    return found


def _read(lake: Lake, history: dict[str, History], found: Found, seconds: float) -> list[Asker]:
    """Four threads share one DuckDB. It ends when time is up and maintenance has done its work in that time."""
    bronze, over, started = history[BRONZE], threading.Event(), time.monotonic()
    bronze.look()
    before = bronze.tally()
    with connect(lake.root) as explorer:
        askers = [Asker(number, explorer, history, over) for number in range(THREADS)]
        for one in askers:
            one.start()
        while True:
            time.sleep(0.05)
            bronze.look()
            tally, lasted = bronze.tally() - before, time.monotonic() - started
            is_whole = all(tally[one] for one in ("append", "replace", "expired"))
            has_failed = found.wrong or any(one.wrong for one in askers) or lasted > seconds + PATIENCE_SECONDS
            if lasted >= seconds and (is_whole or has_failed):
                break
        over.set()
        for one in askers:
            one.join()
    found.seconds = time.monotonic() - started
    found.commits, found.compactions, found.expired = tally["append"], tally["replace"], tally["expired"]
    found.reads = sum((one.reads for one in askers), Counter())
    found.wrong += [line for one in askers for line in one.wrong]
    found.most_behind = max(one.most_behind for one in askers)
    if not is_whole:
        found.wrong.append(f"in {lasted:.0f} s there were only {dict(tally)}")
    return askers


def _compare(lake: Lake, landing: Landing, askers: list[Asker], found: Found) -> None:
    """Every batch that was seen is what was sent, every count is of the batches up to then, and nothing is lost."""
    batches: Batches = {}
    states: States = {0: (0, 0, 0)}
    largest = 0
    for done in sorted(lake.batches(NAME).done(), key=lambda one: one.sequence):
        files = [landing.sent[Path(receipt.unit.source).name] for receipt in done.receipts]
        batches[done.token] = sum(map(len, files)), sum(map(sum, files))
        largest = max(largest, *(one[-1] for one in files))
        totals = zip(*batches.values(), strict=True)
        rows, numbers = map(sum, totals)
        states[rows] = len(batches), largest, numbers
    for one in askers:
        found.wrong += [
            f"batch {key}: {seen}, not {batches.get(key)}" for key, seen in one.batches.items() - batches.items()
        ]
        found.wrong += [
            f"{key} rows: {seen}, not {states.get(key)}" for key, seen in one.states.items() - states.items()
        ]
    account = reconcile(lake, NAME)
    if not account.is_balanced or max(states) != landing.records:
        found.wrong.append(f"{max(states)} rows in batches, and {account.problems[:3]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--eager", action="store_true", help="maintenance without a pause, by a clock that goes ahead")
    asked = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="smelter-soak-"))
    found = read_beside_writers(scratch, asked.seconds, by_command=not asked.eager)
    print(found.summary())
    for line in found.wrong:
        print(f"WRONG: {line}")
    if found.wrong:
        print(f"the lake is kept: {scratch}")
        return 1
    shutil.rmtree(scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
