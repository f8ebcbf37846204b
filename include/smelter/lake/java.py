"""Which Java will Spark run on? Standard library only, because set-up asks before anything is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from smelter.errors import Unreachable

ACCEPTED = (17, 21)
FIX = "install a Java 17 runtime, or set JAVA_HOME to one"


@dataclass(frozen=True)
class Java:
    """A Java that answers, and the version it gives."""

    path: str
    version: str

    @property
    def major(self) -> int:
        """The version that matters: 17 of `17.0.15`, 8 of `1.8.0_402`."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def find_java(environ: Mapping[str, str]) -> Java:
    """The Java that Spark will start: of JAVA_HOME, else of PATH; raises `Unreachable` unless it is 17 or 21."""
    home = environ.get("JAVA_HOME", "")
    path = shutil.which(f"{home}/bin/java") if home else shutil.which("java", path=environ.get("PATH", ""))
    if path is None:
        looked = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no `java` on PATH"
        raise Unreachable(f"Java 17 is needed, but {looked}", next_step=FIX)
    java = Java(path, _version_of(path))
    if java.major not in ACCEPTED:
        raise Unreachable(f"Java 17 is needed, but {path} is Java {java.version}", next_step=FIX)
    return java


def _version_of(path: str) -> str:
    try:
        said = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Unreachable(f"Java 17 is needed, but {path} does not run: {problem}", next_step=FIX) from None
    found = re.search(r'version "(\d[^"]*)"', said.stderr + said.stdout)
    if said.returncode != 0 or found is None:
        last = (said.stderr.strip() or said.stdout.strip() or "nothing").splitlines()[-1]
        raise Unreachable(f"Java 17 is needed, but `{path} -version` says: {last}", next_step=FIX)
    return found.group(1)
