"""docs/quality.md tells the truth: its contract loads, its commands are commands, its numbers are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from smelter.cli.main import run
from smelter.contracts import parse_contract
from smelter.contracts.values import ONE_ROW_PER_KEY
from smelter.quality.examples import MOST
from smelter.quality.results import KEPT
from smelter.quality.verdict import Decision

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "quality.md").read_text("utf-8")


def test_the_contract_of_the_guide_loads() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    assert len(parse_contract(example, "events.yaml").quality) == 5


def test_every_command_of_the_guide_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    (commands,) = re.findall(r"```bash\n(.*?)```", GUIDE, re.DOTALL)
    for line in commands.splitlines():
        _, *words = shlex.split(line, comments=True)
        options = {word for word in words if word.startswith("--")}
        assert run([*words[: 2 if words[0] == "quality" else 1], "--help"]) == 0
        assert options <= set(re.findall(r"--[a-z]+", capsys.readouterr().out))


def test_the_numbers_and_words_of_the_guide_are_those_of_the_code() -> None:
    assert f"up to {MOST} failing rows" in GUIDE
    assert f"the last {KEPT} results" in GUIDE
    assert f"*{ONE_ROW_PER_KEY}*" in GUIDE
    assert all(f"`{decision.value}`" in GUIDE for decision in Decision)
