"""Maintenance in one process, round after round, by a clock that goes ahead: what is due in a while is due now.

Usage: eager_care.py LAKE DATASET SECONDS_AHEAD
"""

from __future__ import annotations

import signal
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.maintenance.care import Wishes, new_run, run
from smelter.maintenance.engine import Engine
from smelter.maintenance.subjects import subjects_of
from smelter.settings import Settings, load_settings

_PAUSE_SECONDS = 1.0


def main(root: str, dataset: str, ahead: str) -> int:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    lake = Lake.at(Settings(lake=Path(root), jars=load_settings().values.jars))
    tables = [f"{space}.{dataset}" for space in (BRONZE, DEAD_LETTERS)]
    failures = 0
    with Engine(lake, beside_stream=True) as engine:
        while not over.wait(_PAUSE_SECONDS):
            now = datetime.now(UTC)
            # As if no stream ran: five small files of a day are packed, however young, and not fifty that have rested.
            wishes = Wishes(now=now + timedelta(seconds=float(ahead)))
            for report in run(lake, subjects_of(lake, tables), engine, new_run(now), wishes):
                print(report.table, report.outcome, [one.said for one in report.steps], report.problem, flush=True)
                failures += report.problem is not None
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
