"""The menu itself: help, version, where options may stand, and how failures are told."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from smelter import __version__
from smelter.cli import main
from smelter.cli.main import _global_options_first, run
from smelter.cli.session import complete_dataset


def test_help_lists_every_command_with_its_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    for command in ("demo", "doctor", "settings", "produce", "check", "contract", "lake", "bench"):
        assert command in said
    assert "Exit codes" in said


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"smelt {__version__}\n"


def test_global_options_may_stand_anywhere_but_after_two_dashes() -> None:
    assert _global_options_first(["check", "a", "--lake", "x", "--debug"]) == ["--lake", "x", "--debug", "check", "a"]
    assert _global_options_first(["check", "--lake=x"]) == ["--lake=x", "check"]
    assert _global_options_first(["check", "--", "--debug"]) == ["check", "--", "--debug"]
    assert _global_options_first(["check", "--lake"]) == ["--lake", "check"]


@pytest.mark.parametrize(
    ("problem", "code", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 3, "the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 3, "permission denied"),
        (ZeroDivisionError("oops"), 3, "run it again with --debug"),
    ],
)
def test_every_failure_is_a_short_text_and_debug_adds_the_traceback(
    problem: Exception, code: int, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise problem

    monkeypatch.setattr(main, "app", fail)
    assert run(["doctor"]) == code
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said
    run(["--debug", "doctor"])
    assert "Traceback" in capsys.readouterr().err


def test_wrong_settings_are_refused_with_their_origin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "smelter.toml").write_text("max_dept = 5\n")
    assert run(["--lake", str(tmp_path), "settings"]) == 2
    assert "did you mean `max_depth`?" in capsys.readouterr().err
    (tmp_path / "smelter.toml").write_text("max_depth = 'deep'\n")
    assert run(["--lake", str(tmp_path), "settings"]) == 2
    assert "smelter.toml" in capsys.readouterr().err
    (tmp_path / "smelter.toml").write_text("max_depth = 7\n")
    monkeypatch.setenv("SMELTER_MAX_FILE_BYTES", "5000")
    assert run(["--lake", str(tmp_path), "settings", "--json"]) == 0
    said = capsys.readouterr().out
    assert "SMELTER_MAX_FILE_BYTES" in said
    assert "--lake" in said


def test_the_shell_is_offered_the_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert complete_dataset("") == ["events", "taxi_trips"]
    assert complete_dataset("t") == ["taxi_trips"]
    monkeypatch.setenv("SMELTER_NO_SUCH_SETTING", "1")
    assert complete_dataset("") == []


def test_an_empty_variable_is_one_that_is_not_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMELTER_LAKE", "")
    assert run(["settings", "--json"]) == 0
    assert '"SMELTER_LAKE"' not in capsys.readouterr().out


def test_a_folder_that_only_looks_like_a_lake_is_not_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "thesis.doc").write_text("x")
    assert run(["--lake", str(tmp_path), "lake", "drop", "--yes"]) == 0
    assert "nothing to drop" in capsys.readouterr().out
    assert (tmp_path / "tables" / "thesis.doc").exists()
