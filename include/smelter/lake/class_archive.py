"""The classes that Spark needs, read and checked once: an archive that later starts map into memory (Java's AppCDS).

`make starts` makes it. Nothing needs it: without it, or where it does not fit the Java or the jars any more, a start of
Spark takes a third longer. It has its name when it is whole, so making it is safe to kill and to repeat.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from smelter.errors import SmelterError
from smelter.lake.jars import LOCK, ensure_jars
from smelter.lake.java import Java, find_java
from smelter.lake.turns import one_at_a_time
from smelter.settings import PROJECT, load_settings

_PREFIX, _SUFFIX = "classes-", ".jsa"
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"  # else Java tells of what it cannot use on standard output
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # it lives for seconds, and need not compile well
_MOST_SECONDS = 300
_LOG = PROJECT / "build" / "classes.log"


def class_archive(jars: Sequence[Path], java: Java) -> Path:
    """Where the archive is, or would be, for this Java and for these jars as they are now."""
    digest = hashlib.sha256(java.version.encode())
    for jar in (*jars, *_jars_of_spark()):
        found = jar.stat()
        digest.update(f"\n{jar} {found.st_size} {found.st_mtime_ns}".encode())
    return jars[0].parent / f"{_PREFIX}{digest.hexdigest()[:16]}{_SUFFIX}"


def java_options(jars: Sequence[Path], java: Java) -> str:
    """What has a Java use the archive; nothing where there is none, or nobody can say: a start goes on without."""
    try:
        archive = class_archive(jars, java)
    except OSError:
        return ""
    return f"-XX:SharedArchiveFile={_word(archive)} {_SILENT}" if archive.exists() and _can_be_named(archive) else ""


def make_archive(archive: Path) -> None:
    """Have a session do a little of everything, and keep what Java has read for it; those of before are removed."""
    part = archive.with_name(f".{archive.name}.part")
    part.unlink(missing_ok=True)
    options = f"-XX:ArchiveClassesAtExit={_word(part)} {_SILENT}"
    environ = {**os.environ, "JDK_JAVA_OPTIONS": _QUICK_JVM, "SPARK_SUBMIT_OPTS": options}
    _LOG.parent.mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="smelter-classes-") as scratch, _LOG.open("wb") as log:
            words = [sys.executable, "-m", "smelter.lake.class_training", scratch, str(archive.parent)]
            subprocess.run(words, env=environ, stdout=log, stderr=log, check=True, timeout=_MOST_SECONDS)
        for old in archive.parent.glob(f"{_PREFIX}*{_SUFFIX}"):
            old.unlink()
        part.rename(archive)
    finally:
        part.unlink(missing_ok=True)


def _jars_of_spark() -> Iterator[Path]:
    package = find_spec("pyspark")
    if package is not None and package.origin is not None:
        yield from sorted((Path(package.origin).parent / "jars").iterdir())


def _word(path: Path) -> str:
    """One word of a list of options, as Spark's launcher reads it."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _can_be_named(archive: Path) -> bool:
    """Java takes what follows a colon for a second archive."""
    return ":" not in str(archive)


def main() -> int:
    """Make the archive, if it is not there; that it cannot be made is told, and ends nothing."""
    started = time.monotonic()
    try:
        jars = ensure_jars(LOCK, load_settings().values.jars, print)
        archive = class_archive(jars, find_java(os.environ))
        with one_at_a_time(archive.parent / ".classes.lock", lambda: print("  waiting for another to make it")):
            if not archive.exists() and _can_be_named(archive):
                print("  keeping what Java reads at each start of Spark (40 seconds, once)", flush=True)
                make_archive(archive)
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
