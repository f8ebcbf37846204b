"""`smelt ingest --recover` as a person writes it: which words go together, and a driver that is asked to stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streams import Stream

from smelter.cli.main import run
from smelter.contracts.ago import time_or_ago
from smelter.contracts.write import contract_text
from smelter.errors import WrongUsage
from smelter.supervise.lock import only_driver
from smelter.supervise.requests import who_asked_to_stop

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NO_FILES = ("--since", "2100-01-01")  # an empty window: no Spark is started


@pytest.fixture(autouse=True)
def _at_home(stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "orders.yaml").write_text(contract_text(stream.contract))
    monkeypatch.setenv("SMELTER_CONTRACTS", str(tmp_path / "contracts"))
    monkeypatch.setenv("SMELTER_LAKE", str(stream.lake.root))


@contextmanager
def a_driver(stream: Stream, *, stops: bool) -> Iterator[None]:
    """Somebody who holds the stream's lock, and lets go of it when asked, or never."""
    folder, began, is_over = stream.lake.run_folder(stream.name), threading.Event(), threading.Event()

    def drive() -> None:
        with only_driver(folder, stream.name) as me:
            began.set()
            while not is_over.wait(0.02):
                if stops and who_asked_to_stop(folder, me.run):
                    return

    driver = threading.Thread(target=drive)
    driver.start()
    try:
        assert began.wait(10)
        yield
    finally:
        is_over.set()
        driver.join()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2h", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("3d", datetime(2026, 2, 26, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T10:00:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
    ],
)
def test_a_time_is_so_long_ago_or_a_moment(text: str, moment: datetime) -> None:
    assert time_or_ago(text, "--since", NOW) == moment


def test_what_is_no_time_is_said_with_examples() -> None:
    with pytest.raises(WrongUsage, match="--until `yesterday` is not a time") as refusal:
        time_or_ago("yesterday", "--until", NOW)
    assert refusal.value.next_step == "--until 2026-11-18T09:00:00Z (UTC), or so long ago: --until 2h (s, m, h, d)"


@pytest.mark.parametrize(
    "words",
    [
        ("--recover", "--since", "1h", "--until", "2h"),
        ("--recover", "--since", "2026-03-01", "--until", "2026-03-01"),
        ("--recover", "--since", "soon"),
        ("--drain", "--since", "1h"),
        ("--follow", "--until", "1h"),
        ("--drain", "--dry-run"),
        ("--drain", "--interrupt"),
        ("--drain", "--wait", "5"),
    ],
)
def test_words_that_do_not_go_together_are_refused(words: tuple[str, ...]) -> None:
    assert run(["ingest", "orders", *words]) == 2


def test_a_rehearsal_is_said_in_a_sentence(stream: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ingest", "orders", "--recover", "--dry-run"]) == 3
    stream.add("a.json")
    stream.drain_here()
    stream.add("b.json")
    capsys.readouterr()
    assert run(["ingest", "orders", "--recover", "--dry-run", "--since", "1h"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "orders: 2 files would be read again, 8 records, 4 of them in no table (3 for bronze, 1 for dead letters); "
        "nothing was written",
        "  4 of these are in files that the stream has not taken yet",
    ]


def test_a_living_driver_is_asked_to_stop_only_with_the_flag(
    stream: Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    with a_driver(stream, stops=True):
        assert run(["ingest", "orders", "--recover", *NO_FILES]) == 1
        assert "already has a driver" in capsys.readouterr().err
        assert run(["ingest", "orders", "--recover", "--interrupt", *NO_FILES]) == 0
        assert "to stop after its batch" in capsys.readouterr().err
    assert run(["ingest", "orders", "--recover", "--interrupt", *NO_FILES]) == 0


def test_a_driver_that_does_not_stop_in_time_is_named(stream: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    with a_driver(stream, stops=False):
        assert run(["ingest", "orders", "--recover", "--interrupt", "--wait", "0.3", *NO_FILES]) == 1
    said = capsys.readouterr().err
    assert "the stream orders still has a driver after 0.3 s: pid" in said
    assert "it was asked to stop, and will when its batch is done" in said
