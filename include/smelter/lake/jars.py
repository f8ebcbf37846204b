"""The jars that Spark needs: present, verified against their lock, and fetched when they are missing.

Importing this starts nothing; `python -m smelter.lake.jars` is the last step of `make setup`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import SmelterError, Unreachable
from smelter.lake.fetch import fetch_jars
from smelter.lake.jar_lock import Jar, read_lock
from smelter.lake.java import find_java
from smelter.lake.turns import one_at_a_time
from smelter.settings import PROJECT, load_settings

LOCK = PROJECT / "include" / "jars.lock"
MARKER = ".verified.json"
SCRATCH_PREFIX = ".fetching-"


@dataclass(frozen=True)
class JarProblem:
    """A jar that is not what the lock says; `found` is its hash, or nothing when the file is missing."""

    jar: Jar
    found: str | None

    def __str__(self) -> str:
        if self.found is None:
            return f"{self.jar.coordinate} is missing"
        return f"{self.jar.coordinate} has sha256 {self.found}, but the lock says {self.jar.sha256}"


def verify_jars(lock: Path, folder: Path) -> list[JarProblem]:
    """Hash every jar of the lock, whatever was verified before."""
    found = [(jar, _sha256(folder / jar.file_name)) for jar in read_lock(lock)]
    return [JarProblem(jar, sha256) for jar, sha256 in found if sha256 != jar.sha256]


def ensure_jars(lock: Path, folder: Path, say: Callable[[str], None]) -> list[Path]:
    """All jars of the lock, verified; what is missing is fetched. A second run reads no jar and fetches nothing."""
    jars = read_lock(lock)
    if _unverified(jars, folder):
        find_java(os.environ)
        try:
            _mend(jars, folder, say)
        except OSError as problem:
            raise _as_unreachable(problem, folder) from problem
    return [folder / jar.file_name for jar in jars]


def _mend(jars: Sequence[Jar], folder: Path, say: Callable[[str], None]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(folder / ".lock", lambda: say("  waiting for another set-up to finish with the jars")):
        _remove_stale_scratch(folder)
        wrong = [jar for jar in jars if _sha256(folder / jar.file_name) != jar.sha256]
        for jar in wrong:
            _remove_if_there(folder / jar.file_name, jar, say)
        if wrong:
            _fetch(wrong, folder, say)
        _mark(jars, folder)


def _fetch(jars: Sequence[Jar], folder: Path, say: Callable[[str], None]) -> None:
    """Fetch into a scratch folder, which never outlives the call; only a verified jar leaves it."""
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=folder))
    try:
        started = time.monotonic()
        for jar, file in fetch_jars(jars, scratch, _log()):
            _accept(jar, file, folder)
            say(f"✓ {jar.coordinate}  {time.monotonic() - started:.1f} s")
            started = time.monotonic()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _accept(jar: Jar, file: Path, folder: Path) -> None:
    found = _sha256(file)
    if found != jar.sha256:
        file.unlink(missing_ok=True)
        raise Unreachable(
            f"the jar {jar.coordinate} was refused and deleted: expected sha256 {jar.sha256}, found {found}",
            next_step="if the lock is right, somebody changed the jar on its way: fetch it from another network",
        )
    file.replace(folder / jar.file_name)


def _remove_if_there(file: Path, jar: Jar, say: Callable[[str], None]) -> None:
    if file.exists():
        say(f"  {JarProblem(jar, _sha256(file))}: deleted, fetching it again")
        file.unlink()


def _remove_stale_scratch(folder: Path) -> None:
    """What a killed set-up left behind; the lock is held, so nobody is using it."""
    for stale in folder.glob(f"{SCRATCH_PREFIX}*"):
        shutil.rmtree(stale, ignore_errors=True)


def _sha256(file: Path) -> str | None:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _unverified(jars: Sequence[Jar], folder: Path) -> list[Jar]:
    """The jars that have changed, by size and time, since they were last hashed."""
    try:
        marks = json.loads((folder / MARKER).read_text("utf-8"))
    except (OSError, ValueError):
        marks = {}
    return [jar for jar in jars if not isinstance(marks, dict) or marks.get(jar.file_name) != _mark_of(jar, folder)]


def _mark_of(jar: Jar, folder: Path) -> list[int | str]:
    try:
        stat = (folder / jar.file_name).stat()
    except OSError:
        return ["missing"]
    return [stat.st_size, stat.st_mtime_ns, jar.sha256]


def _mark(jars: Sequence[Jar], folder: Path) -> None:
    """Remember what was verified, keeping the marks of other locks that share the folder."""
    marker = folder / MARKER
    try:
        marks = json.loads(marker.read_text("utf-8"))
    except (OSError, ValueError):
        marks = {}
    marks.update({jar.file_name: _mark_of(jar, folder) for jar in jars})
    fresh = marker.with_suffix(".new")
    fresh.write_text(json.dumps(marks, indent=1), "utf-8")
    fresh.replace(marker)


def _log() -> Path:
    """`build/jars.log`, or a temporary file where the project may not be written."""
    log = PROJECT / "build" / "jars.log"
    try:
        log.parent.mkdir(exist_ok=True)
        log.touch()
    except OSError:
        handle, name = tempfile.mkstemp(prefix="smelter-jars-", suffix=".log")
        os.close(handle)
        return Path(name)
    return log


def _as_unreachable(problem: OSError, folder: Path) -> Unreachable:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unreachable(
            f"the disk that holds {folder} is full", next_step="free some room, then run make setup again"
        )
    return Unreachable(
        f"the jars cannot be kept in {folder}: {(problem.strerror or str(problem)).lower()}",
        next_step="name a folder you may write: SMELTER_JARS",
    )


def main() -> int:
    """Make sure of the jars and print one line per step; a failure is one sentence."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    try:
        jars = ensure_jars(LOCK, load_settings().values.jars, lambda line: print(line, flush=True))
    except SmelterError as problem:
        print(f"{problem.what}: {problem.next_step}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print("fetching the jars was interrupted; nothing half-fetched is left", file=sys.stderr)
        return Unreachable.exit_code
    print(f"✓ {len(jars)} jars, verified  {time.monotonic() - started:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
