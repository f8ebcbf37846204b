"""A driver that finishes its running batch when it is asked. Usage: small_driver.py DIARY ingest DATASET --follow"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

DIARY, DATASET = Path(sys.argv[1]), sys.argv[3]


def end(_number: int, _frame: object) -> None:
    time.sleep(0.5)  # the running batch
    write("end")
    jvm.kill()
    jvm.wait()
    sys.exit(0)


def write(what: str) -> None:
    with DIARY.open("a") as diary:
        diary.write(f"{what} driver-{DATASET} 0\n")


signal.signal(signal.SIGTERM, end)
jvm = subprocess.Popen(["sleep", "600"])
write("begin")
while jvm.poll() is None:
    time.sleep(0.05)
write("lost its JVM")
