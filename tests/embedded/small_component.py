"""A component that writes down when it begins and ends. Usage: small_component.py NAME HOME PORT

Files in the home make it behave badly: `NAME.stubborn` ignores signals, `NAME.dies` ends at once, `NAME.slow` is slow
to begin, `NAME.works` has a process below it in a group of its own, as a task has.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

NAME, HOME, PORT = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])


def write(what: str) -> None:
    with (HOME / "diary").open("a") as diary:
        diary.write(f"{what} {NAME} {os.getpid()}\n")


def end(number: int, _frame: object) -> None:
    if (HOME / f"{NAME}.stubborn").exists():
        return
    write("end")
    sys.exit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    is_slow = (HOME / f"{NAME}.slow").exists()
    time.sleep(1 if is_slow and NAME != "migrate" else 0)
    write("begin")
    if NAME == "migrate":
        time.sleep(3 if is_slow else 0)
        (HOME / "airflow.db").touch()
        sys.exit(1 if (HOME / "migrate.dies").exists() else 0)
    if (HOME / f"{NAME}.dies").exists():
        sys.exit(int((HOME / f"{NAME}.dies").read_text() or 7))
    if (HOME / f"{NAME}.works").exists():
        subprocess.Popen(["sleep", "600"], start_new_session=True)
    if NAME == "api-server":
        listener = socket.create_server(("127.0.0.1", PORT))
        listener.listen()
    while True:
        time.sleep(0.05)


main()
