"""The classes that Spark needs, read and checked once: an archive that later starts map into memory (Java's AppCDS).

`make starts` makes it. Nothing needs it: without it, or where it does not fit the Java or the jars any more, a start of
Spark takes a third longer. It has its name when it is whole, so making it is safe to kill and to repeat.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from smelter.errors import Refused, SmelterError
from smelter.lake.jars import LOCK, ensure_jars
from smelter.lake.java import Java, find_java
from smelter.lake.turns import one_at_a_time
from smelter.settings import PROJECT, load_settings

_PREFIX, _SUFFIX = "classes-", ".jsa"
_SCRATCH_PREFIX = ".making-classes-"
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"  # else Java tells of what it cannot use on standard output
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # it lives for seconds, and need not compile well
_MOST_SECONDS = 300
_LOG = PROJECT / "build" / "classes.log"


def archive_name(jars: Sequence[Path], java: Java) -> str:
    """What the archive is called for this Java and for these jars as they are now, but for its size and ending."""
    digest = hashlib.sha256(java.version.encode())
    for jar in (*jars, *_jars_of_spark()):
        found = jar.stat()
        digest.update(f"\n{jar} {found.st_size} {found.st_mtime_ns}".encode())
    return f"{_PREFIX}{digest.hexdigest()[:16]}"


def class_archive(jars: Sequence[Path], java: Java) -> Path | None:
    """The archive, if it is there and whole: a Java that is given one that was cut ends at once (17.0.15)."""
    for archive in jars[0].parent.glob(f"{archive_name(jars, java)}-*{_SUFFIX}"):
        if archive.stem.endswith(f"-{archive.stat().st_size}"):
            return archive
    return None


def java_options(jars: Sequence[Path], java: Java) -> str:
    """What has a Java use the archive; nothing where there is none, or nobody can say: a start goes on without."""
    try:
        archive = class_archive(jars, java)
    except OSError:
        return ""
    can_be_used = archive is not None and _can_hold_one(archive.parent)
    return f"-XX:SharedArchiveFile={_word(archive)} {_SILENT}" if archive is not None and can_be_used else ""


def make_archive(folder: Path, name: str) -> None:
    """Have a session do a little of everything, and keep what Java has read for it; those of before are removed.

    Java writes it when it ends, which may be after us if we are stopped: the scratch is gone then, and nothing is left.
    """
    if not _can_hold_one(folder):
        raise Refused(f"Java can name no archive in {folder}, because of the colon")
    for stale in folder.glob(f"{_SCRATCH_PREFIX}*"):
        shutil.rmtree(stale, ignore_errors=True)
    scratch = tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=folder, ignore_cleanup_errors=True)
    _LOG.parent.mkdir(exist_ok=True)
    with scratch as place, _LOG.open("wb") as log:
        part = Path(place) / name
        options = f"-XX:ArchiveClassesAtExit={_word(part)} {_SILENT}"
        environ = {**os.environ, "JDK_JAVA_OPTIONS": _QUICK_JVM, "SPARK_SUBMIT_OPTS": options}
        words = [sys.executable, "-m", "smelter.lake.class_training", place, str(folder)]
        subprocess.run(words, env=environ, stdout=log, stderr=log, check=True, timeout=_MOST_SECONDS)
        for old in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            old.unlink()
        part.rename(folder / f"{name}-{part.stat().st_size}{_SUFFIX}")


def _can_hold_one(folder: Path) -> bool:
    """Java takes what follows a colon for a second archive."""
    return ":" not in str(folder)


def _jars_of_spark() -> Iterator[Path]:
    package = find_spec("pyspark")
    if package is not None and package.origin is not None:
        yield from sorted((Path(package.origin).parent / "jars").iterdir())


def _word(path: Path) -> str:
    """One word of a list of options, as Spark's launcher reads it."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def main() -> int:
    """Make the archive, if it is not there; that it cannot be made is told, and ends nothing."""
    started = time.monotonic()
    try:
        jars = ensure_jars(LOCK, load_settings().values.jars, print)
        java, folder = find_java(os.environ), jars[0].parent
        with one_at_a_time(folder / ".classes.lock", lambda: print("  waiting for another to make it")):
            if class_archive(jars, java) is None:
                print("  keeping what Java reads at each start of Spark (40 seconds, once)", flush=True)
                make_archive(folder, archive_name(jars, java))
    except (OSError, subprocess.SubprocessError, SmelterError) as problem:
        print(f"  starts of Spark stay as they are, a little slow: {problem} (see {_LOG.relative_to(PROJECT)})")
        return 0
    except KeyboardInterrupt:
        print("interrupted; nothing half-made is left", file=sys.stderr)
        return SmelterError.exit_code
    print(f"✓ quick starts of Spark  {time.monotonic() - started:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
