"""Two drivers on one stream: the second is refused; and where no lock holds it back, nothing is doubled."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

import pytest
from accounts import check
from crashes import do_at
from drivers import start, wait_until
from streams import Stream

from smelter.cli.main import run
from smelter.errors import Refused
from smelter.lake.home import BRONZE
from smelter.supervise.lock import LOCK, holder, only_driver


def test_a_second_driver_is_refused_with_the_pid_of_the_first(stream: Stream) -> None:
    stream.add("a.json")
    folder = stream.lake.run_folder(stream.name)
    with only_driver(folder, stream.name), pytest.raises(Refused, match=f"already has a driver: pid {os.getpid()}"):
        stream.drain_here()
    assert holder(folder) is None
    stream.drain_here()
    check(stream)


def test_the_command_line_refuses_a_second_driver_with_exit_code_1(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    contracts = tmp_path / "contracts"
    contracts.mkdir()
    (contracts / f"{stream.name}.yaml").write_text(stream.contract.model_dump_json(by_alias=True, exclude_unset=True))
    monkeypatch.setenv("SMELTER_CONTRACTS", str(contracts))
    stream.add("a.json")
    with only_driver(stream.lake.run_folder(stream.name), stream.name):
        for how in (["--drain"], ["--follow"], ["--recover"], ["--reread", str(stream.landing / "a.json")]):
            assert run(["--lake", str(stream.lake.root), "ingest", stream.name, *how]) == 1
            said = capsys.readouterr().err
            assert f"the stream orders already has a driver: pid {os.getpid()}" in said
            assert "data: nothing was read or changed" in said
            assert "smelt stream stop orders" in said
    stream.drain_here()
    check(stream)


def test_somebody_who_only_asks_whether_a_driver_lives_does_not_keep_one_from_starting(stream: Stream) -> None:
    stream.add("a.json")
    folder = stream.lake.run_folder(stream.name)
    folder.mkdir(parents=True)
    with (folder / LOCK).open("a") as asked:
        fcntl.flock(asked, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert holder(folder) is None
    stream.drain_here()
    check(stream)


@pytest.mark.parametrize("point", ["planned", "judged", "prepared", "between_commits", "committed"])
def test_without_a_lock_a_driver_that_slept_in_its_batch_adds_nothing_to_what_another_did_meanwhile(
    stream: Stream, point: str
) -> None:
    stream.add("a.json")
    stream.add("b.json")

    def another() -> None:
        stream.lock_is_lost()
        stream.drain_here()

    with suppress(Refused):
        stream.drain_here(do_at(point, another))
    check(stream)


@pytest.mark.parametrize("point", ["planned", "judged", "prepared", "between_commits", "committed"])
def test_without_a_lock_a_driver_that_slept_adds_nothing_when_the_other_had_more_files(
    stream: Stream, point: str
) -> None:
    stream.add("a.json")
    stream.add("b.json")

    def another() -> None:
        stream.lock_is_lost()
        stream.add("c.json")
        stream.drain_here()

    with suppress(Refused):
        stream.drain_here(do_at(point, another))
    stream.drain_here()
    check(stream)


@pytest.mark.parametrize("point", ["planned", "judged", "prepared", "between_commits", "committed"])
def test_without_a_lock_a_driver_that_slept_adds_nothing_when_a_file_went_meanwhile(stream: Stream, point: str) -> None:
    stream.add("a.json")
    stream.add("b.json")

    def another() -> None:
        stream.lock_is_lost()
        stream.delete("a.json")
        stream.drain_here()

    with suppress(Refused):
        stream.drain_here(do_at(point, another))
    stream.drain_here()
    if point in ("planned", "judged"):
        stream.expect_letter("a.json", "file_unreadable")
    check(stream)


def test_a_table_that_was_dropped_and_made_again_is_not_given_the_batch_of_the_old_one(stream: Stream) -> None:
    stream.add("a.json")

    def drop() -> None:
        stream.lake.catalog.drop_table((BRONZE, stream.name))
        stream.bronze()

    with pytest.raises(Refused, match="not the table that this batch was prepared for"):
        stream.drain_here(do_at("prepared", drop))


def test_streams_that_start_at_once_in_a_new_lake_all_get_their_tables(tmp_path: Path) -> None:
    lake, go = tmp_path / "lake", tmp_path / "go"
    streams = [
        start("first_stream.py", lake, f"orders_{number // 2}", go, log=tmp_path / f"said {number}")
        for number in range(4)
    ]
    wait_until(lambda: len(list(tmp_path.glob("go.*"))) == len(streams), "all were ready")
    go.touch()
    assert [stream.wait(timeout=60) for stream in streams] == [0] * len(streams), [
        (tmp_path / f"said {number}").read_text()[-2000:] for number in range(len(streams))
    ]
