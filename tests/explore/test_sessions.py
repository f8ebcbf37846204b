"""A session begins quickly, minds its own business, ends cleanly, and can be shared by threads."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from small_lakes import SmallLake

from smelter.errors import Refused, Unreachable
from smelter.explore import Explorer, connect, extensions
from smelter.explore.extensions import packaged

ENDLESS = "select count(*) from range(1000000000000) t(i) where i % 3 = 7"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sessions put their temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def servers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "smelter-catalog"]


def endpoint(explorer: Explorer) -> str:
    words = "select options['endpoint'] from duckdb_databases() where type = 'iceberg'"
    return explorer._connection.cursor().execute(words).fetchall()[0][0]


def is_listening(address: str) -> bool:
    port = urlsplit(address).port
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()


def test_a_closed_session_leaves_no_port_no_thread_and_no_file(lake: SmallLake, scratch: Path) -> None:
    before = len(servers())
    explorer = connect(lake.path)
    address = endpoint(explorer)
    assert is_listening(address)
    assert len(servers()) == before + 1
    assert list(scratch.iterdir()) != []
    explorer.close()
    explorer.close()
    assert not is_listening(address)
    assert len(servers()) == before
    assert list(scratch.iterdir()) == []


def test_a_forgotten_session_closes_itself(lake: SmallLake, scratch: Path) -> None:
    explorer = connect(lake.path)
    answer = explorer.execute("select 1")
    del explorer
    gc.collect()
    assert answer.fetchall() == [(1,)]  # an answer keeps its session
    del answer
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_closed_session_says_so(lake: SmallLake) -> None:
    explorer = connect(lake.path)
    answer = explorer.execute("select 1")
    explorer.close()
    for act in (lambda: explorer.execute("select 1"), explorer.refresh, answer.fetchall):
        with pytest.raises(Refused, match="this lake was closed"):
            act()


def test_close_does_not_wait_for_a_question_of_another_thread(lake: SmallLake) -> None:
    explorer = connect(lake.path)
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            explorer.execute(ENDLESS).fetchall()
        except Refused as problem:
            problems.append(problem)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.3)
    assert asking.is_alive()
    explorer.close()
    asking.join(10)
    assert not asking.is_alive()
    assert len(problems) == 1


def test_ctrl_c_ends_a_question_and_not_the_session(lake: SmallLake) -> None:
    with connect(lake.path) as explorer:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            explorer.execute(ENDLESS).fetchall()
        assert explorer.execute("select 1").fetchall() == [(1,)]


def test_an_answer_that_fails_late_is_told_like_one_that_fails_at_once(lake: SmallLake) -> None:
    with connect(lake.path, unsafe=True) as explorer:
        explorer.execute("set threads = 1")  # with more, DuckDB now and then does not say which part failed
        answer = explorer.execute("select if(i = 500000, error('late'), i) from range(600000) t(i)")
        with pytest.raises(Refused, match="late"):
            answer.fetchall()


def test_a_question_that_duckdb_stops_by_itself_says_that_its_answer_is_not_whole(lake: SmallLake) -> None:
    ended = threading.Event()

    def interrupt(explorer: Explorer) -> None:
        """What a thread of DuckDB does whose part failed; before a query begins, an interrupt is not heard."""
        while not ended.wait(0.1):
            for cursor in list(explorer._asked):
                cursor.interrupt()

    with connect(lake.path) as explorer:
        interrupting = threading.Thread(target=interrupt, args=(explorer,))
        interrupting.start()
        try:
            with pytest.raises(Refused, match="stopped before its end") as caught:
                explorer.execute(ENDLESS).fetchall()
        finally:
            ended.set()
            interrupting.join()
        assert caught.value.next_step == "ask it again"
        assert explorer.execute("select 1").fetchall() == [(1,)]


def test_times_are_in_utc_and_proxies_are_not_asked(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    lake.with_events([1])
    with connect(lake.path) as explorer:
        asked = "select current_setting('TimeZone'), timestamptz '2026-07-01 00:00:00+02'::varchar, count(*)"
        answer = explorer.execute(f"{asked} from bronze.events").fetchall()
    assert answer == [("UTC", "2026-06-30 22:00:00+00", 1)]


def test_an_extension_that_is_not_installed_is_named_with_the_fix(
    lake: SmallLake, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extensions, "find_spec", lambda name: None)
    with pytest.raises(Unreachable, match="extension `avro` cannot be loaded: its package is not installed") as caught:
        connect(lake.path)
    assert caught.value.next_step == "make setup"
    assert list(scratch.iterdir()) == []


def test_an_extension_of_another_version_is_named() -> None:
    with pytest.raises(Unreachable, match=r"its package is not for DuckDB 1\.0\.0"):
        packaged("iceberg", "1.0.0")


def test_an_extension_that_does_not_load_is_told_in_duckdbs_words(
    lake: SmallLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "iceberg.duckdb_extension"
    broken.write_bytes(b"no extension")

    def found(name: str) -> Path:
        return broken if name == "iceberg" else packaged(name)

    monkeypatch.setattr(extensions, "packaged", found)
    with pytest.raises(Unreachable, match=r"extension `iceberg` cannot be loaded: .*duckdb_extension"):
        connect(lake.path)


def test_signatures_of_extensions_are_checked_once_in_a_process_and_for_each_file(
    lake: SmallLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsigned = tmp_path / "avro.duckdb_extension"
    content = bytearray(packaged("avro").read_bytes())
    content[-100:] = bytes(100)  # the end of the signature
    unsigned.write_bytes(content)
    connect(lake.path).close()
    assert extensions.are_checked()
    with connect(lake.path, unsafe=True) as explorer:
        assert explorer.execute("select current_setting('allow_unsigned_extensions')").fetchall() == [(False,)]
    monkeypatch.setattr(extensions, "packaged", lambda name: unsigned if name == "avro" else packaged(name))
    with pytest.raises(Unreachable, match=r"extension `avro` cannot be loaded: .*signature"):
        connect(lake.path)


def test_readers_see_whole_commits_that_never_go_back_while_a_writer_commits(lake: SmallLake) -> None:
    events = lake.with_events(list(range(10)))
    commits, done = 8, threading.Event()
    seen: dict[str, list[int]] = {}
    with connect(lake.path) as shared, connect(lake.path) as own:

        def read(name: str, explorer: Explorer) -> None:
            counts = seen.setdefault(name, [])
            while not done.is_set():
                counts.append(explorer.execute("select count(*) from bronze.events").fetchall()[0][0])

        readers = [
            threading.Thread(target=read, args=(name, explorer))
            for name, explorer in (("a", shared), ("b", shared), ("c", shared), ("d", own))
        ]
        for reader in readers:
            reader.start()
        for number in range(1, commits):
            lake.append(events, list(range(number * 10, number * 10 + 10)))
        done.set()
        for reader in readers:
            reader.join(30)
        assert shared.execute("select count(*) from bronze.events").fetchall() == [(commits * 10,)]
    assert sorted(seen) == ["a", "b", "c", "d"]
    for counts in seen.values():
        assert counts == sorted(counts)
        assert set(counts) <= {number * 10 for number in range(1, commits + 1)}
    assert len(set().union(*map(set, seen.values()))) > 2  # they did read in between


def test_what_was_given_away_keeps_the_lake_open(lake: SmallLake) -> None:
    lake.with_events([1])
    before = servers()
    relation, line = connect(lake.path).sql("select id from bronze.events"), connect(lake.path).connection()
    gc.collect()
    assert len(servers()) == len(before) + 2
    assert relation.fetchall() == line.execute("select id from bronze.events").fetchall() == [(1,)]
    del relation, line
    gc.collect()
    assert servers() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_asked_to_end_leaves_no_file(lake: SmallLake, tmp_path: Path, number: signal.Signals) -> None:
    lake.with_events([1])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environ = {**os.environ, "SMELTER_LAKE": str(lake.path), "TMPDIR": str(scratch)}
    words = [
        str(Path(sys.executable).with_name("smelt")),
        "sql",
        "from range(1000000000)",
        "-o",
        str(tmp_path / "a.csv"),
    ]
    with subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
        while not list(tmp_path.glob(".a.csv.*")):
            assert command.poll() is None
            time.sleep(0.02)
        command.send_signal(number)
        assert command.wait(30) != 0
    assert list(scratch.iterdir()) == []
    assert sorted(place.name for place in tmp_path.iterdir()) == ["lake", "scratch"]
