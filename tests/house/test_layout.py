"""The house as a newcomer finds it: a menu, rooms in their places, nothing of anybody's machine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from smelter.cli.settings import settings_page

PROJECT = Path(__file__).resolve().parents[2]
# Put together here, so that this file does not hold what it looks for.
REGISTRIES = [
    "".join(parts)
    for parts in (
        ("pypi", r"\.org"),
        ("python", r"hosted\.org"),
        ("repo1?", r"\.maven"),
        ("maven", r"\.org"),
        ("spark-packages", r"\.org"),
        ("docker", r"\.io/"),
    )
]
MACHINES = ["".join(parts) for parts in (("/work", "/(?:main|shared)"), ("/root", "/"), ("/Users", "/"))]


def tracked_files() -> list[Path]:
    """What git keeps, or would keep of the files that are new."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [PROJECT / name for name in listed if (PROJECT / name).is_file()]


@pytest.mark.parametrize("pattern", REGISTRIES + MACHINES)
def test_no_file_names_a_registry_or_somebodys_machine(pattern: str) -> None:
    found = [
        f"{file.relative_to(PROJECT)}:{number}"
        for file in tracked_files()
        for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == []


def test_duckdb_holds_no_python_because_it_would_hide_the_library() -> None:
    assert [*(PROJECT / "duckdb").rglob("*.py")] == []


def test_git_keeps_nothing_of_the_embedded_lake_but_its_readme() -> None:
    kept = [file for file in tracked_files() if file.is_relative_to(PROJECT / "warehouse")]
    assert kept == [PROJECT / "warehouse" / "README.md"]


@pytest.mark.parametrize(
    "place",
    [
        "dags",
        "jobs",
        "include/contracts",
        "include/models",
        "include/jars.lock",
        "duckdb",
        "warehouse",
        "docs/decisions",
    ],
)
def test_every_room_of_the_house_is_there(place: str) -> None:
    assert (PROJECT / place).exists()


def test_every_pin_has_a_hash() -> None:
    entries = re.split(r"\n(?=\S)", (PROJECT / "requirements.txt").read_text("utf-8"))
    pins = [entry for entry in entries if not entry.startswith("#")]
    assert len(pins) > 100
    assert [pin.split()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []


def test_bare_make_prints_the_menu() -> None:
    menu = subprocess.run(["make"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "demo", "test", "lint", "bench", "lock", "clean"):
        assert re.search(rf"^  make {target} +\S", menu, re.MULTILINE), target


def test_the_page_of_settings_is_current() -> None:
    page = (PROJECT / "docs" / "settings.md").read_text("utf-8")
    assert page == settings_page(), "run: smelt settings --markdown > docs/settings.md"


def test_ci_is_a_program() -> None:
    assert os.access(PROJECT / ".ci" / "run", os.X_OK)
