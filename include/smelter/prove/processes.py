"""Processes that are started to be killed: none of them, nor any that they start, is left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

# A JVM that lives for seconds need not compile well; one that lives through 200 rounds fills that compiler's cache.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
_SET_DEATH_SIGNAL = 1
_ENDS_BY_ITSELF_SECONDS = 20.0


def start(module: str, *words: object, log: Path, wrapper: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start a module in a session of its own, so that Ctrl-C is ours alone; what it says goes to the log.

    The child dies with the thread that starts it (`die_with`), so that thread must stay with it.
    """
    environ = {**os.environ, "JDK_JAVA_OPTIONS": QUICK_JVM}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_package_folder(), os.environ.get("PYTHONPATH")]))
    words = (*wrapper, sys.executable, "-m", module, os.getpid(), *words)
    with log.open("ab") as said:
        return subprocess.Popen(
            [*map(str, words)], env=environ, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is gone, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent is gone")


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9 of the process alone; its JVM and its workers end because it is gone, which is waited for."""
    process.kill()
    process.wait()
    end = time.monotonic() + _ENDS_BY_ITSELF_SECONDS
    while members := _session(process.pid):
        if time.monotonic() > end:
            for pid in members:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _session(leader: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(words[3]) == leader and words[0] != "Z":
                    found.append(int(folder.name))
    return found


def _package_folder() -> str:
    return str(Path(__file__).resolve().parents[2])
