"""Logs, scratch folders and checkpoints that were set aside stay within limits, and no living process notices."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from smelter.lake.home import SILVER, Lake
from smelter.lake.lease import lease
from smelter.maintenance import run_files
from smelter.maintenance.run_files import due, tidy
from smelter.settings import Settings
from smelter.supervise.driver import ERRORS, Launch, start
from smelter.supervise.lock import LOCK, only_driver

NOW = datetime.now(UTC)
LATER = NOW + timedelta(days=2)
MUCH_LATER = NOW + timedelta(days=31)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.at(Settings(lake=tmp_path / "lake"))


@pytest.fixture
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of logs, a million times smaller."""
    monkeypatch.setattr(run_files, "MOST_LOG_BYTES", 50)
    monkeypatch.setattr(run_files, "LOG_BYTES_KEPT", 25)


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def scratch_of(folder: Path) -> Path:
    """What a killed session left."""
    write(folder / "scratch" / "blockmgr-1" / "0a" / "shuffle.data", "12345")
    return folder / "scratch"


@pytest.mark.usefixtures("small_logs")
def test_of_a_log_that_is_too_large_the_newest_lines_stay_and_its_writer_goes_on(lake: Lake) -> None:
    log = write(lake.job_folder(SILVER, "orders") / "spark.log", "".join(f"line {number:02}\n" for number in range(10)))
    with log.open("a") as writer:
        (gone,) = tidy(lake, NOW)
        writer.write("after\n")
    assert (gone.path, gone.bytes) == (log, 80 - 25)
    assert log.read_text() == "after\n"
    assert log.with_name("spark.log.old").read_text() == "line 07\nline 08\nline 09\n"
    assert due(lake, NOW) == []


@pytest.mark.usefixtures("small_logs")
def test_logs_within_the_limit_those_of_airflow_and_what_is_no_log_are_left_alone(lake: Lake) -> None:
    run = lake.root / "run"
    kept = [
        write(run / "streams" / "orders" / "driver.log", "y" * 50),
        write(run / "airflow" / "logs" / "scheduler.log", "y" * 500),
        write(run / "streams" / "orders" / "heartbeat.json", "y" * 500),
        write(run / "streams" / "orders" / LOCK, "y" * 500),
    ]
    assert tidy(lake, NOW) == []
    assert all(path.stat().st_size >= 50 for path in kept)


@pytest.mark.usefixtures("small_logs")
def test_what_a_living_driver_says_on_its_standard_error_is_cut_without_a_hole(lake: Lake) -> None:
    folder = lake.run_folder("orders")
    script = (
        "import sys, time; from pathlib import Path; from smelter.supervise.lock import only_driver\n"
        "folder = Path(sys.argv[1]); print('e' * 200, file=sys.stderr, flush=True)\n"
        "with only_driver(folder, 'orders'):\n"
        "    while not (folder / 'go on').exists(): time.sleep(0.01)\n"
        "    print('after', file=sys.stderr, flush=True)\n"
    )
    driver = start(folder, "orders", Launch([sys.executable, "-c", script, str(folder)], os.environ))
    assert [one.path for one in tidy(lake, NOW)] == [folder / ERRORS]
    write(folder / "go on")
    os.waitpid(driver.pid, 0)
    assert (folder / ERRORS).read_text() == "after\n"


def test_scratch_files_of_sessions_that_are_gone_are_removed_a_day_later(lake: Lake) -> None:
    job, stream = scratch_of(lake.job_folder(SILVER, "orders")), scratch_of(lake.run_folder("orders"))
    write(stream.parent / LOCK)
    assert tidy(lake, NOW) == []
    assert [one.path for one in due(lake, LATER)] == [job, stream]
    assert [(one.path, one.bytes) for one in tidy(lake, LATER)] == [(job, 5), (stream, 5)]
    assert (list(job.parent.iterdir()), list(stream.parent.iterdir())) == ([], [stream.parent / LOCK])


def test_scratch_files_of_a_living_session_are_left_alone_however_old(lake: Lake) -> None:
    job, stream = scratch_of(lake.job_folder(SILVER, "orders")), scratch_of(lake.run_folder("orders"))
    with lease(lake, SILVER, "orders", "a test"), only_driver(stream.parent, "orders"):
        assert (due(lake, LATER), tidy(lake, LATER)) == ([], [])
    assert (job.exists(), stream.exists()) == (True, True)


def test_scratch_files_of_a_driver_whose_lock_was_removed_are_left_alone(lake: Lake) -> None:
    stream = scratch_of(lake.run_folder("orders"))
    assert (due(lake, LATER), tidy(lake, LATER)) == ([], [])
    assert stream.exists()


@pytest.mark.parametrize("how", ["by name", "by an open file"])
def test_scratch_files_that_a_process_uses_are_left_alone_whoever_holds_the_lease(lake: Lake, how: str) -> None:
    """A session of a run that has no lease, and a JVM that has outlived its driver."""
    scratch = scratch_of(lake.job_folder("demo", "orders"))
    words = ["-c", "import sys; input()", str(scratch)] if how == "by name" else ["-c", "input()"]
    with (
        (scratch / "open").open("w") as handle,
        subprocess.Popen([sys.executable, *words], stdin=subprocess.PIPE, stdout=handle) as process,
    ):
        handle.close()
        assert tidy(lake, LATER) == []
        process.communicate(b"\n")
    assert [one.path for one in tidy(lake, LATER)] == [scratch]


def test_checkpoints_that_were_set_aside_are_kept_for_30_days(lake: Lake) -> None:
    whole = write(lake.checkpoint(".orders-aside-1a2b3c4d") / "offsets" / "7", "v1\n").parents[1]
    entry = write(lake.checkpoint("orders") / "aside" / "commits" / "7", "v1\n").parents[1]
    living = write(lake.checkpoint("orders") / "offsets" / "8", "v1\n")
    assert tidy(lake, NOW + timedelta(days=29)) == []
    assert [(one.path, one.bytes) for one in tidy(lake, MUCH_LATER)] == [(whole, 3), (entry, 3)]
    assert (whole.exists(), entry.exists(), living.exists()) == (False, False, True)
