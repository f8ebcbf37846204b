"""Fetching jars: a child process does it, its noise goes to a log, and what went wrong is read from there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from smelter.errors import Unreachable
from smelter.lake.jar_lock import Jar

LIMIT_SECONDS = 900.0
LEFT_OUT = (
    "PYTHONDONTWRITEBYTECODE",  # it would make every later start slow
    "SPARK_HOME",  # another Spark than the one of the lock
    "PYSPARK_SUBMIT_ARGS",
    "PYSPARK_GATEWAY_PORT",
)


def fetch_jars(jars: Sequence[Jar], scratch: Path, log: Path) -> Iterator[tuple[Jar, Path]]:
    """Each jar with its file in `scratch`, as it arrives and not yet verified."""
    with _child(jars, scratch, log) as (child, expired):
        _wait_for("ready", child, expired, log)
        for jar in jars:
            _wait_for(jar.coordinate, child, expired, log)
            yield jar, scratch / "jars" / jar.file_name


def _wait_for(word: str, child: subprocess.Popen[str], expired: threading.Event, log: Path) -> None:
    assert child.stdout is not None
    if child.stdout.readline().strip() != word:
        child.wait()
        raise _why(word, log, expired.is_set())


@contextmanager
def _child(jars: Sequence[Jar], scratch: Path, log: Path) -> Iterator[tuple[subprocess.Popen[str], threading.Event]]:
    """The child process, ended together with its JVM on every way out and after `LIMIT_SECONDS`."""
    words = [sys.executable, "-P", "-m", "smelter.lake.ivy_session", str(scratch), *(jar.coordinate for jar in jars)]
    expired = threading.Event()
    with (
        log.open("wb") as noise,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
            cwd=scratch,
            env=_environment(),
            start_new_session=True,
        ) as child,
    ):
        watchdog = threading.Timer(LIMIT_SECONDS, _expire, (child, expired))
        watchdog.start()
        try:
            yield child, expired
        finally:
            watchdog.cancel()
            _end(child)


def _expire(child: subprocess.Popen[str], expired: threading.Event) -> None:
    expired.set()
    _end(child)


def _end(child: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # it leads its own group, in which the JVM is too


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    return kept | {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "LC_ALL": "C.UTF-8",
    }


def _why(word: str, log: Path, expired: bool) -> Unreachable:
    """What the log says, as one sentence."""
    noise = log.read_text("utf-8", "replace")
    again = "then run make setup again"
    if "No space left on device" in noise or "Disk quota exceeded" in noise:
        return Unreachable("the disk is full, so the jars could not be fetched", next_step=f"free some room, {again}")
    if word == "ready":
        return Unreachable(f"Spark did not start, so no jar could be fetched (see {log})", next_step="smelt doctor")
    if expired or _every_host_failed(noise):
        return Unreachable(
            f"{word} could not be fetched because no repository answered (see {log})",
            next_step=f"check the network, {again}",
        )
    if "UNRESOLVED DEPENDENCIES" in noise:
        return Unreachable(f"no repository has {word} (see {log})", next_step="mend its line in the lock file")
    return Unreachable(f"{word} could not be fetched (see {log})", next_step=f"read the log, {again}")


def _every_host_failed(noise: str) -> bool:
    """Of the hosts that Ivy tried for the missing jar, not one gave an answer."""
    tried = set(re.findall(r"^\s+https?://([^/\s]+)/", noise, re.MULTILINE))
    failed = set(re.findall(r"(?:not found\.|error\b).*?url[= ]https?://([^/\s]+)/", noise, re.IGNORECASE))
    return bool(tried) and tried <= failed
