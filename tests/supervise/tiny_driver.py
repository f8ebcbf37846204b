"""A driver without Spark, as a process: takes the lock, beats, heeds its requests, and ends as it is told to.

Usage: tiny_driver.py FOLDER [fail | slow | deaf]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from smelter.supervise.heartbeat import Heartbeat, State, write_heartbeat
from smelter.supervise.lock import only_driver
from smelter.supervise.requests import Wish, forget_requests, wanted, who_asked_to_stop


def main(folder: Path, how: str) -> None:
    if how == "fail":
        sys.exit("there is no landing folder")
    if how == "slow":
        time.sleep(1)
    with only_driver(folder, "tiny") as me:
        forget_requests(folder, but=me.run)
        state = State.WAITING
        while how == "deaf" or not (who_asked_to_stop(folder, me.run) or wanted(folder).wish is Wish.STOP):
            write_heartbeat(folder, Heartbeat("tiny", os.getpid(), state, me.since, run=me.run))
            time.sleep(0.05)
        time.sleep(0.3)  # the batch that it finishes
        write_heartbeat(folder, Heartbeat("tiny", os.getpid(), State.STOPPED, me.since, run=me.run, exit_code=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
