"""Lakes to ask, and a way to ask them by command."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_lakes import Done, SmallLake, Smelt

from postgres_server import postgres, running_postgres  # noqa: F401
from smelter.cli import main, sql
from smelter.explore import Explorer, connect


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[SmallLake]:
    """A lake that nobody has written to yet."""
    small = SmallLake(tmp_path / "lake")
    yield small
    small.close()


@pytest.fixture(scope="session")
def safe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SmallLake, Explorer]]:
    """A lake with `bronze.events`, open for questions that change nothing."""
    small = SmallLake(tmp_path_factory.mktemp("safe") / "lake")
    small.with_events([1, 2, 3])
    with connect(small.path) as explorer:
        yield small, explorer
    small.close()


@pytest.fixture
def smelt(lake: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smelt:
    """Runs a command on the lake."""
    if "sql" not in {command.name for command in main.app.registered_commands}:
        sql.register(main.app)
    monkeypatch.setenv("SMELTER_LAKE", str(lake.path))
    monkeypatch.chdir(lake.path.parent)
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def call(*words: str) -> Done:
        lake.path.mkdir(exist_ok=True)
        code = main.run(list(words))
        done = capsys.readouterr()
        assert "Traceback" not in done.err
        assert "in a way it should not" not in done.err
        return Done(code, done.out, done.err)

    return call
