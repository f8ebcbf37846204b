"""A way to run commands in a scratch folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Done, Smelt

from smelter.cli.main import run


@pytest.fixture
def smelt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smelt:
    """Runs a command in a scratch folder whose contracts are in `contracts/`."""
    (tmp_path / "contracts").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("SMELTER_CONTRACTS", str(tmp_path / "contracts"))

    def call(*words: str) -> Done:
        code = run(list(words))
        done = capsys.readouterr()
        assert "Traceback" not in done.err
        assert "in a way it should not" not in done.err
        return Done(code, done.out, done.err)

    return call
