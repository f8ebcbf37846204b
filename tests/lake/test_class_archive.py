"""Spark starts from an archive of classes where there is one that fits, and as well without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from smelter.errors import Refused
from smelter.lake.class_archive import archive_name, class_archive, java_options, main, make_archive
from smelter.lake.jars import LOCK, ensure_jars
from smelter.lake.java import Java, find_java
from smelter.lake.session import jvm_of
from smelter.settings import PROJECT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION = Path(__file__).with_name("counting_session.py")


@pytest.fixture(scope="module")
def archive() -> Path:
    """That of this project; `make test` has made it."""
    assert main() == 0
    found = class_archive(ensure_jars(LOCK, PROJECT / ".jars", print), find_java(os.environ))
    assert found is not None
    return found


def an_archive(jars: list[Path], java: Java, content: bytes) -> Path:
    """A file where the archive would be, whole by its name."""
    file = jars[0].parent / f"{archive_name(jars, java)}-{len(content)}.jsa"
    file.write_bytes(content)
    return file


@pytest.mark.jvm
def test_a_session_has_the_archive_in_its_memory(archive: Path, spark: SparkSession) -> None:
    assert archive.name in Path(f"/proc/{jvm_of(spark)}/maps").read_text()


@pytest.mark.jvm
@pytest.mark.parametrize("kind", ["of another class path", "no archive", "cut"])
def test_an_archive_that_does_not_fit_costs_nothing_but_time(archive: Path, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / 'jars in "a folder"'
    folder.mkdir()
    for jar in (PROJECT / ".jars").glob("*.jar"):
        (folder / jar.name).symlink_to(jar)
    jars = ensure_jars(LOCK, folder, print)
    content = b"classes" * 1000 if kind == "no archive" else archive.read_bytes()
    there = an_archive(jars, find_java(os.environ), content)
    if kind == "cut":  # Java itself would end with a SIGBUS
        os.truncate(there, 5_000_000)
    words = [sys.executable, SESSION, tmp_path / "lake", tmp_path / "run", folder]
    settings = {"SPARK_CONF_DIR": str(tmp_path)} if kind == "of another class path" else {}
    environ = {**os.environ, **settings}
    done = subprocess.run([*map(str, words)], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr


def test_other_jars_or_another_java_have_another_archive_and_none_is_no_option(tmp_path: Path) -> None:
    jar, java = tmp_path / "a.jar", Java("java", "17.0.15")
    jar.write_text("one")
    assert java_options([jar], java) == ""
    there = an_archive([jar], java, b"classes")
    assert java_options([jar], java).startswith(f'-XX:SharedArchiveFile="{there}"')
    assert java_options([jar], Java("java", "17.0.16")) == ""
    jar.write_text("another")
    assert java_options([jar], java) == ""


def test_jars_that_cannot_be_looked_at_are_no_reason_not_to_start(tmp_path: Path) -> None:
    assert java_options([tmp_path / "gone.jar"], Java("java", "17.0.15")) == ""


def test_a_folder_with_a_colon_has_no_archive(tmp_path: Path) -> None:
    """Java would take what follows the colon for a second one."""
    jar, java = tmp_path / "a:b" / "a.jar", Java("java", "17.0.15")
    jar.parent.mkdir()
    jar.touch()
    an_archive([jar], java, b"classes")
    assert java_options([jar], java) == ""
    with pytest.raises(Refused, match="because of the colon"):
        make_archive(jar.parent, "classes")
