"""Jars are verified against their lock; what cannot be fetched is one sentence, and nothing half-fetched stays."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import PROJECT, write_program

from smelter.errors import Unreachable
from smelter.lake.jar_lock import Jar, read_lock
from smelter.lake.jars import ensure_jars, verify_jars

CONTENT = b"a jar"
JAR = Jar("org.example", "tool", "1.0", hashlib.sha256(CONTENT).hexdigest())
NO_ANSWER = """
==== first: tried
  https://first.example/org/example/tool-1.0.pom
==== second: tried
  https://second.example/org/example/tool-1.0.pom
\tHost first.example not found. url=https://first.example/org/example/tool-1.0.pom
\tServer access error at url https://second.example/org/example/tool-1.0.pom (Connection refused)
UNRESOLVED DEPENDENCIES
"""
NOBODY_HAS_IT = """
==== first: tried
  https://first.example/org/example/tool-1.0.pom
==== second: tried
  https://second.example/org/example/tool-1.0.pom
\tHost second.example not found. url=https://second.example/org/example/tool-1.0.pom
UNRESOLVED DEPENDENCIES
"""

PretendIvy = Callable[[str], None]


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "jars.lock"
    file.write_text(f"# one jar\n\n{JAR.coordinate} {JAR.sha256}\n", "utf-8")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "jars"


@pytest.fixture
def ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PretendIvy:
    """In place of the child process that fetches: `$1` is its scratch folder."""
    write_program(tmp_path / "bin" / "java", "echo 'openjdk version \"17.0.15\"' >&2")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    def pretend(text: str) -> None:
        child = write_program(tmp_path / "child", f'shift 3; mkdir "$1/jars"; cd "$1/jars"\n{text}')
        monkeypatch.setattr(sys, "executable", str(child))

    return pretend


def delivers(content: bytes) -> str:
    fetched = f"printf '{content.decode()}' > {JAR.file_name}; echo {JAR.coordinate}"
    return f"echo ready; echo called >> ../../../calls; {fetched}"


def fails(log: str) -> str:
    return f"echo ready; cat >&2 <<'END'\n{log}\nEND\nexit 1"


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir() if entry.name != ".lock"}


def test_the_shipped_lock_names_what_spark_needs() -> None:
    artifacts = {jar.artifact for jar in read_lock(PROJECT / "include" / "jars.lock")}
    assert artifacts == {"iceberg-spark-runtime-4.1_2.13", "sqlite-jdbc", "postgresql"}


@pytest.mark.parametrize(
    "line",
    ["org.example:tool 0", f"org.example:tool:1.0 {'0' * 63}", f"../up:tool:1.0 {'0' * 64}", f"a:b:1 {'0' * 64} extra"],
)
def test_a_wrong_line_of_the_lock_is_refused_with_its_number(lock: Path, line: str) -> None:
    lock.write_text(f"# comment\n{line}\n", "utf-8")
    with pytest.raises(Unreachable, match=r"jars\.lock:2 is not `group:artifact:version sha256`"):
        read_lock(lock)


def test_a_jar_cannot_be_locked_twice(lock: Path) -> None:
    lock.write_text(f"{JAR.coordinate} {'0' * 64}\n{JAR.coordinate} {'1' * 64}\n", "utf-8")
    with pytest.raises(Unreachable, match="twice"):
        read_lock(lock)


def test_a_missing_jar_is_fetched_once_and_said(lock: Path, folder: Path, ivy: PretendIvy, tmp_path: Path) -> None:
    ivy(delivers(CONTENT))
    said: list[str] = []
    assert ensure_jars(lock, folder, said.append) == [folder / JAR.file_name]
    assert ensure_jars(lock, folder, said.append) == [folder / JAR.file_name]
    assert (folder / JAR.file_name).read_bytes() == CONTENT
    assert len(said) == 1
    assert said[0].startswith(f"✓ {JAR.coordinate}  ")
    assert (tmp_path / "calls").read_text("utf-8") == "called\n"
    assert names(folder) == {JAR.file_name, ".verified.json"}


def test_a_jar_with_another_hash_is_refused_and_deleted(lock: Path, folder: Path, ivy: PretendIvy) -> None:
    ivy(delivers(b"not it"))
    with pytest.raises(Unreachable) as refused:
        ensure_jars(lock, folder, print)
    found = hashlib.sha256(b"not it").hexdigest()
    assert (
        f"{JAR.coordinate} was refused and deleted: expected sha256 {JAR.sha256}, found {found}" in refused.value.what
    )
    assert names(folder) == set()


def test_a_jar_that_was_changed_later_is_found_and_fetched_again(lock: Path, folder: Path, ivy: PretendIvy) -> None:
    ivy(delivers(CONTENT))
    ensure_jars(lock, folder, print)
    (folder / JAR.file_name).write_bytes(b"changed!")
    (problem,) = verify_jars(lock, folder)
    assert problem.found == hashlib.sha256(b"changed!").hexdigest()
    said: list[str] = []
    ensure_jars(lock, folder, said.append)
    assert "deleted, fetching it again" in said[0]
    assert verify_jars(lock, folder) == []


def test_a_change_that_keeps_size_and_time_is_found_by_hashing(lock: Path, folder: Path, ivy: PretendIvy) -> None:
    ivy(delivers(CONTENT))
    (jar,) = ensure_jars(lock, folder, print)
    before = jar.stat()
    jar.write_bytes(CONTENT[::-1])
    os.utime(jar, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(verify_jars(lock, folder)) == 1


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (NO_ANSWER, "org.example:tool:1.0 could not be fetched because no repository answered"),
        (NOBODY_HAS_IT, "no repository has org.example:tool:1.0"),
        ("java.io.IOException: No space left on device", "the disk is full"),
        ("java.lang.Error: something new", "org.example:tool:1.0 could not be fetched"),
    ],
)
def test_what_stops_a_fetch_is_one_sentence(lock: Path, folder: Path, ivy: PretendIvy, log: str, sentence: str) -> None:
    ivy(fails(log))
    with pytest.raises(Unreachable) as stopped:
        ensure_jars(lock, folder, print)
    assert sentence in stopped.value.what
    assert "\n" not in stopped.value.what
    assert names(folder) == set()


def test_a_spark_that_does_not_start_is_one_sentence(lock: Path, folder: Path, ivy: PretendIvy) -> None:
    ivy("echo 'no such module' >&2; exit 1")
    with pytest.raises(Unreachable, match="Spark did not start"):
        ensure_jars(lock, folder, print)


def test_what_a_killed_fetch_left_behind_is_removed(lock: Path, folder: Path, ivy: PretendIvy) -> None:
    ivy(delivers(CONTENT))
    (folder / ".fetching-stale" / "jars").mkdir(parents=True)
    ensure_jars(lock, folder, print)
    assert names(folder) == {JAR.file_name, ".verified.json"}


def test_two_at_once_fetch_once(lock: Path, folder: Path, ivy: PretendIvy, tmp_path: Path) -> None:
    ivy(f"sleep 0.5; {delivers(CONTENT)}")
    both = [threading.Thread(target=ensure_jars, args=(lock, folder, print)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert (tmp_path / "calls").read_text("utf-8") == "called\n"


def test_a_folder_that_cannot_be_made_is_one_sentence(lock: Path, tmp_path: Path, ivy: PretendIvy) -> None:
    ivy(delivers(CONTENT))
    (tmp_path / "file").touch()
    with pytest.raises(Unreachable, match="SMELTER_JARS"):
        ensure_jars(lock, tmp_path / "file" / "jars", print)


@pytest.mark.jvm
def test_without_a_network_the_real_fetch_gives_one_sentence(tmp_path: Path) -> None:
    """The real Spark and Ivy, with every connection sent to a port where nobody listens."""
    nowhere = " ".join(f"-D{kind}.proxyHost=127.0.0.1 -D{kind}.proxyPort=9" for kind in ("http", "https"))
    run = subprocess.run(
        [sys.executable, "-m", "smelter.lake.jars"],
        env={**os.environ, "SMELTER_JARS": str(tmp_path / "jars"), "JAVA_TOOL_OPTIONS": nowhere},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 3
    (sentence,) = run.stderr.splitlines()
    assert "could not be fetched because no repository answered" in sentence
    assert "check the network" in sentence
    assert names(tmp_path / "jars") == set()
