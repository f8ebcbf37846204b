"""`smelt forget` as a test runs it: its exit code, and what it said."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from people import People

from smelter.cli.main import run
from smelter.contracts.write import contract_text


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Smelt = Callable[..., Done]


@pytest.fixture(name="smelt")
def a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smelt:
    """Runs a command on the lake of a dataset."""

    def call(people: People, *words: str) -> Done:
        (tmp_path / f"{people.name}.yaml").write_text(contract_text(people.contract))
        monkeypatch.setenv("SMELTER_LAKE", str(people.lake.root))
        monkeypatch.setenv("SMELTER_CONTRACTS", str(tmp_path))
        capsys.readouterr()
        code = run(list(words))
        done = capsys.readouterr()
        assert "in a way it should not" not in done.err
        return Done(code, done.out, done.err)

    return call
