"""What cannot work is refused with the next command, and nothing is left running."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest
from platforms import Platform, free_port, wait_until

from smelter.cli import platform as platform_commands
from smelter.cli.main import run
from smelter.embedded import api
from smelter.embedded.components import airflow_plan
from smelter.embedded.home import Home
from smelter.embedded.start import wait_until_healthy
from smelter.errors import Refused, Unreachable, WrongUsage


def test_a_port_that_somebody_has_is_refused(platform: Platform) -> None:
    with socket.create_server(("127.0.0.1", platform.port)), pytest.raises(Refused) as refusal:
        platform.up()
    assert f"port {platform.port} cannot be used" in str(refusal.value)
    assert "smelt up --port" in str(refusal.value)
    assert platform.processes() == []
    assert platform.diary("begin") == []


def test_another_port_than_the_one_it_runs_on_is_refused(platform: Platform) -> None:
    first = platform.up()
    with pytest.raises(Refused, match=f"runs on port {platform.port}, not "):
        platform.up(free_port())
    assert platform.when_running() == first


def test_a_database_that_cannot_be_made_is_told_with_its_log(platform: Platform) -> None:
    platform.will("migrate.dies")
    with pytest.raises(Unreachable) as refusal:
        platform.up()
    assert "database.log" in str(refusal.value)
    assert platform.processes() == []


def test_a_component_that_goes_on_dying_is_named_and_the_rest_is_stopped(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = platform.up()
    platform.will("scheduler.dies")
    monkeypatch.setattr(api, "_HEALTH_SECONDS", 0.2)  # the small server listens and says nothing
    os.kill(platform.pid_of("scheduler"), signal.SIGKILL)
    with pytest.raises(Unreachable) as refusal:
        wait_until_healthy(platform.home, standing, lambda _what, _seconds: None)
    assert "scheduler died 3 times" in str(refusal.value)
    assert "scheduler.log" in str(refusal.value)
    assert platform.processes() == []


def test_a_platform_that_was_up_before_is_left_as_it_is_when_a_part_of_it_dies(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = platform.up()
    driver = platform.start_driver("events")
    platform.will("scheduler.dies")
    monkeypatch.setattr(api, "_HEALTH_SECONDS", 0.2)
    os.kill(platform.pid_of("scheduler"), signal.SIGKILL)
    with pytest.raises(Unreachable, match="scheduler died 3 times") as told:
        wait_until_healthy(platform.home, standing, lambda _what, _seconds: None, is_new=False)
    assert "its streams go on" in told.value.data
    assert driver.poll() is None
    assert platform.pid_of("triggerer")
    platform.down()
    assert driver.wait() == 0


def test_a_keeper_that_is_stopped_while_it_is_waited_for_is_told(platform: Platform) -> None:
    standing = platform.up()
    platform.down()
    with pytest.raises(Unreachable, match="keeper ended"):
        wait_until_healthy(platform.home, standing, lambda _what, _seconds: None)


def test_a_path_that_sqlite_cannot_open_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / "/".join(["x" * 100] * 5)
    with pytest.raises(WrongUsage, match="too long"):
        Home.at(deep).make()
    with pytest.raises(WrongUsage, match="character"):
        Home.at(tmp_path / "a$HOME").make()
    assert list(tmp_path.iterdir()) == []


def test_an_environment_without_airflow_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(Unreachable, match="make setup"):
        airflow_plan(8080, tmp_path)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--datasets", "nope"], 3, "no contract for `nope`"),
        (["--datasets", ","], 2, "names no dataset"),
        (["--port", "0"], 2, "'--port'"),
        (["--port", "70000"], 2, "'--port'"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, says: str
) -> None:
    assert run(["--lake", str(tmp_path / "lake"), "up", *words]) == code
    assert says in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


def test_without_java_nothing_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert run(["--lake", str(tmp_path / "lake"), "up"]) == 3
    assert "Java 17" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


def test_a_folder_that_is_no_lake_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.doc").touch()
    assert run(["--lake", str(tmp_path), "up"]) == 1
    assert "is not a lake" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.doc"]


def test_down_where_nothing_ever_ran_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--lake", str(tmp_path / "lake"), "down"]) == 0
    assert capsys.readouterr().out == "nothing was running\n"
    assert not (tmp_path / "lake").exists()


def test_a_lake_whose_platform_is_up_is_not_dropped(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    platform.up()
    (platform.lake / "layout").write_text("1\n")
    wait_until(lambda: (platform.lake / "run").exists())
    assert run(["--lake", str(platform.lake), "lake", "drop", "--yes"]) == 1
    assert "smelt down" in capsys.readouterr().err
    assert platform.home.root.exists()


def test_an_interrupted_start_says_that_it_goes_on_and_how_to_stop_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(platform_commands, "_refuse_unfit", lambda _settings: None)
    monkeypatch.setattr(platform_commands, "_start", interrupted)
    assert run(["--lake", str(tmp_path / "lake"), "up"]) == 130
    assert f"--lake {tmp_path}/lake down stops it" in capsys.readouterr().err
