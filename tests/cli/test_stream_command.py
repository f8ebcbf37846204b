"""`smelt stream` by hand: clear words, and nothing outside the lake whatever is typed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from smelter.cli.main import run
from smelter.run_folders import stream_folder
from smelter.supervise.lock import holder
from smelter.supervise.requests import Wish, wanted

DRAINED = "dataset: hourly\nversion: 1\nfields:\n  id: {type: long}\nsource: {files: landing/hourly, every: 1h}\n"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    contracts = tmp_path / "contracts"
    contracts.mkdir()
    (contracts / "hourly.yaml").write_text(DRAINED)
    (contracts / "events.yaml").write_text(DRAINED.replace("hourly", "events").replace(", every: 1h", ""))
    monkeypatch.setenv("SMELTER_CONTRACTS", str(contracts))
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))
    return tmp_path / "lake"


@pytest.mark.parametrize("name", ["../x", "$(touch x)", "a b", "--now", "nothing"])
@pytest.mark.parametrize("word", ["start", "stop", "pause", "resume", "status", "logs"])
def test_a_dataset_that_there_is_not_is_refused_and_leaves_no_trace(lake: Path, word: str, name: str) -> None:
    assert run(["stream", word, "--", name]) == 3
    assert not lake.exists()


def test_pause_and_stop_stay_until_somebody_wants_otherwise(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = stream_folder(lake, "events")
    assert run(["stream", "pause", "events", "--reason", "too many letters"]) == 0
    assert "the next one waits" in capsys.readouterr().out
    assert wanted(folder).reason == "too many letters"
    assert run(["stream", "stop", "events"]) == 0
    assert "no driver runs" in capsys.readouterr().out
    assert run(["stream", "resume", "events"]) == 1
    assert "smelt stream start events" in capsys.readouterr().err
    assert run(["stream", "status", "--json"]) == 0
    found = {one["dataset"]: one for one in json.loads(capsys.readouterr().out)}
    assert (found["events"]["wanted"], found["hourly"]["wanted"]) == ("stop", "run")
    assert run(["stream", "status", "events"]) == 0
    assert "not running; stopped by" in capsys.readouterr().out


def test_a_dataset_with_a_timetable_gets_no_driver_and_its_drain_heeds_a_stop(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stream_folder(lake, "hourly")
    assert run(["stream", "stop", "hourly", "--reason", "the source is broken"]) == 0
    assert run(["ingest", "hourly", "--drain", "--if-wanted"]) == 0
    assert "nothing was drained: the stream is stopped by" in capsys.readouterr().out
    assert run(["stream", "start", "hourly"]) == 0
    assert "drained every 1h by Airflow" in capsys.readouterr().out
    assert wanted(folder).wish is Wish.RUN
    assert holder(folder) is None


def test_logs_of_a_stream_that_never_ran_say_so(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stream", "logs", "events"]) == 1
    assert "has no log yet" in capsys.readouterr().err


def test_with_drivers_elsewhere_a_start_without_a_server_says_what_is_missing(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMELTER_DRIVERS", "served")
    assert run(["stream", "start", "events"]) == 3
    assert "smelt stream serve" in capsys.readouterr().err


def test_logs_follow_the_file(lake: Path) -> None:
    import sys

    folder = stream_folder(lake, "events")
    folder.mkdir(parents=True)
    (folder / "driver.log").write_text("one\ntwo\nthree\n")
    smelt = Path(sys.executable).with_name("smelt")
    done = subprocess.run([smelt, "stream", "logs", "events", "-n", "2"], capture_output=True, text=True, check=True)
    assert done.stdout == "two\nthree\n"
