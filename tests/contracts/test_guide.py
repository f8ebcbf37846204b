"""The guide tells the truth: every command of docs/your-own-data.md is run, and prints what the guide shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
GUIDE = PROJECT / "docs" / "your-own-data.md"
HOME = "/home/you/smelter"
STEP = re.compile(r"^```bash\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder that looks like the project to whoever follows the guide."""
    (tmp_path / "include" / "contracts").mkdir(parents=True)
    return tmp_path


def run_step(house: Path, commands: str) -> str:
    """What a person would see, with the folder called as in the guide."""
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(house),
        "LC_ALL": "C.UTF-8",
        "SMELTER_LAKE": str(house / "warehouse"),
        "SMELTER_CONTRACTS": str(house / "include" / "contracts"),
    }
    words = ["bash", "-c", commands]
    done = subprocess.run(
        words,
        cwd=house,
        env=environ,
        text=True,
        timeout=60,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return clean(done.stdout.replace(str(house), HOME))


def clean(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def test_every_command_of_the_guide_prints_what_the_guide_shows(house: Path) -> None:
    steps = STEP.findall(GUIDE.read_text("utf-8"))
    assert len(steps) == 10
    for commands, shown in steps:
        assert run_step(house, commands) == clean(shown), commands


def test_every_command_of_the_guide_is_in_a_block_that_is_run() -> None:
    text = GUIDE.read_text("utf-8")
    assert text.count("```bash") == len(STEP.findall(text))
    assert "```sh" not in text
    assert not re.search(r"^    smelt ", text, re.MULTILINE)
