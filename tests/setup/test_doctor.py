"""The doctor looks at everything that set-up made, and gives the fix with each failure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from machines import write_program

from smelter.cli.main import run
from smelter.lake import doctor
from smelter.lake.jar_lock import read_lock
from smelter.lake.jars import LOCK


def test_this_project_is_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is True
    assert {"system", "Python", "Java", "packages", "lake", "disk", "contracts", "encoding"} < {
        check["name"] for check in answer["checks"]
    }


def test_each_check_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9 + len(read_lock(LOCK))
    assert all(line.startswith("ok ") for line in lines)


def test_a_failure_is_shown_with_its_fix_and_exit_code_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMELTER_JARS", str(tmp_path))
    assert run(["doctor"]) == 3
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("failed")]
    assert len(failed) == 3
    assert all("is missing (fix: make setup)" in line for line in failed)


def test_another_java_fails(tmp_path: Path) -> None:
    write_program(tmp_path / "java", "echo 'openjdk version \"11.0.2\"' >&2")
    check = doctor.check_java({"PATH": str(tmp_path)})
    assert (check.ok, check.fix) == (False, "install a Java 17 runtime, or set JAVA_HOME to one")
    assert "Java 11.0.2" in check.found


def test_packages_that_differ_from_the_lock_fail(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text("typer==0.0.1 \\\n    --hash=sha256:00\nno-such-package==1.0\n", "utf-8")
    check = doctor.check_packages(lock)
    assert not check.ok
    assert "not 0.0.1" in check.found
    assert "no-such-package missing, not 1.0" in check.found
    assert "make setup" in check.fix


def test_a_changed_jar_fails(tmp_path: Path) -> None:
    lock = tmp_path / "jars.lock"
    lock.write_text(f"a:b:1 {'0' * 64}\n", "utf-8")
    (tmp_path / "a_b-1.jar").write_bytes(b"changed")
    (check,) = doctor.check_jars(lock, tmp_path)
    assert (check.ok, check.fix) == (False, "make setup")
    assert "but the lock says 0000" in check.found


def test_a_broken_lock_of_jars_fails(tmp_path: Path) -> None:
    lock = tmp_path / "jars.lock"
    lock.write_text("nonsense\n", "utf-8")
    (check,) = doctor.check_jars(lock, tmp_path)
    assert not check.ok
    assert "jars.lock:1" in check.found


def test_a_lake_that_does_not_exist_yet_is_well(tmp_path: Path) -> None:
    check = doctor.check_lake(tmp_path / "new" / "lake")
    assert check.ok
    assert "will be made" in check.found
    assert not (tmp_path / "new").exists()


def test_a_folder_of_other_things_is_no_lake(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").touch()
    check = doctor.check_lake(tmp_path)
    assert not check.ok
    assert "letters.txt" in check.found
    assert "--lake" in check.fix


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_lake_that_cannot_be_written_fails(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    check = doctor.check_lake(tmp_path)
    assert not check.ok
    assert "writable" in check.fix


def test_too_little_room_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED_GIB", 2**40)
    check = doctor.check_disk(tmp_path / "not" / "there")
    assert not check.ok
    assert check.fix.startswith("free some room")


def test_a_broken_contract_fails_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "events.yaml").write_text("dataset: events\nversoin: 1\n", "utf-8")
    check = doctor.check_contracts(tmp_path)
    assert not check.ok
    assert "events.yaml:" in check.found
    assert "smelt contract check" in check.fix


def test_a_missing_or_empty_folder_of_contracts_fails(tmp_path: Path) -> None:
    assert "SMELTER_CONTRACTS" in doctor.check_contracts(tmp_path / "none").fix
    assert "smelt contract new" in doctor.check_contracts(tmp_path).fix


def test_another_encoding_than_utf_8_fails() -> None:
    ask = "from smelter.lake.doctor import check_encoding; check = check_encoding(); print(check.ok, check.fix)"
    environ = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = subprocess.run([sys.executable, "-c", ask], env=environ, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("False export LC_ALL=C.UTF-8")
