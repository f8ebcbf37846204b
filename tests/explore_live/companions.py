"""Who works on a lake while it is read: files that arrive, a driver, maintenance; each ends well, or is told of."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 180.0  # for what comes in its time; only there so that a failure ends
_FILE_SECONDS = 0.1


class Landing:
    """Files arrive on and on; what is in each of them is remembered."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._chance, self._number = folder, random.Random(1), 0
        self.sent: dict[str, range] = {}  # file name: the numbers of its good records
        folder.mkdir(parents=True)

    @property
    def records(self) -> int:
        """Good ones, of all files together."""
        return sum(map(len, self.sent.values()))

    def arrive(self) -> None:
        good = range(self._number + 1, self._number + 1 + self._chance.randrange(1, 20))
        self._number = good[-1]
        lines = [f'{{"sequence": {one}, "note": "number {one}"}}\n' for one in good]
        lines += ['{"sequence": "none"}\n'] * self._chance.randrange(3)
        name = f"{len(self.sent):06}.json"
        self.sent[name] = good
        aside = self._folder.parent / f".{name}"
        aside.write_text("".join(lines))
        aside.rename(self._folder / name)

    def arrive_until(self, over: threading.Event) -> None:
        while not over.wait(_FILE_SECONDS):
            self.arrive()


@contextmanager
def running(words: list[str], environ: dict[str, str], log: Path, wrong: list[str]) -> Iterator[None]:
    """A process that goes on until it is asked to end, and must end well."""
    with log.open("ab") as said:
        process = subprocess.Popen(words, env=environ, stdout=said, stderr=said, start_new_session=True)
    try:
        yield
        if process.poll() is not None:
            wrong.append(f"{words} ended by itself: {log.read_text()[-500:]}")
        process.send_signal(signal.SIGTERM)
        if process.wait(PATIENCE_SECONDS) != 0:
            wrong.append(f"{words} ended with {process.returncode}: {log.read_text()[-500:]}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def again_and_again(words: list[str], environ: dict[str, str], log: Path, wrong: list[str]) -> Iterator[None]:
    """One command after the other; the last one is let end."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(1):
            with log.open("ab") as said:
                done = subprocess.run(words, env=environ, stdout=said, stderr=said, check=False)
            if done.returncode != 0:
                wrong.append(f"{words} ended with {done.returncode}: {log.read_text()[-500:]}")
                return

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.05)
