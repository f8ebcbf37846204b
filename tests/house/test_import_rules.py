"""The rooms see only what they may see, and each rule can be broken."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
RULES = PROJECT / ".importlinter"


def lint(place: Path) -> subprocess.CompletedProcess[str]:
    words = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    environ = {**os.environ, "PYTHONPATH": str(place / "include"), "COLUMNS": "200", "TERM": "dumb"}
    return subprocess.run(words, cwd=place, env=environ, capture_output=True, text=True, check=False)


def rules() -> dict[str, configparser.SectionProxy]:
    parser = configparser.ConfigParser()
    parser.read(RULES, "utf-8")
    return {parser[name]["name"]: parser[name] for name in parser.sections() if ":contract:" in name}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "include" / "smelter", tmp_path / "include" / "smelter", ignore=ignored)
    shutil.copy(RULES, tmp_path)
    return tmp_path


def test_every_room_keeps_the_rules() -> None:
    done = lint(PROJECT)
    assert done.returncode == 0, done.stdout


def test_every_room_has_a_rule() -> None:
    named = {module for rule in rules().values() for module in rule["source_modules"].split()}
    folder = PROJECT / "include" / "smelter"
    rooms = {place.parent.name for place in folder.glob("*/__init__.py")} - {"cli"}
    assert {f"smelter.{room}" for room in rooms} <= named


def test_an_import_that_is_not_allowed_breaks_its_rule(copy: Path) -> None:
    """One bad import for each rule: not one of them may be kept."""
    for rule in rules().values():
        source = rule["source_modules"].split()[0]
        place = copy / "include" / Path(*source.split("."))
        place = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        with place.open("a", encoding="utf-8") as room:
            room.write(f"\nimport {rule['forbidden_modules'].split()[-1]}  # not allowed\n")
    done = lint(copy)
    assert done.returncode == 1
    kept = [name for name in rules() if f"{name} KEPT" in done.stdout]
    assert kept == []
    assert all(f"{name} BROKEN" in done.stdout for name in rules()), done.stdout
