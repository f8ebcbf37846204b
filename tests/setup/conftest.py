"""The machine that the tests of set-up work on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from machines import PROJECT, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A clean copy on a machine whose Java is right; its jars are those of this project."""
    project = tmp_path / "smelter"
    (project / "include").mkdir(parents=True)
    shutil.copytree(
        PROJECT / "include" / "smelter", project / "include" / "smelter", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("include/install.py", "include/jars.lock", "pyproject.toml", "LICENSE"):
        shutil.copy(PROJECT / name, project / name)
    (project / "README.md").write_text("# A copy\n", "utf-8")
    (project / "requirements.txt").write_text("wheel==99.0 --hash=sha256:" + "0" * 64 + "\n", "utf-8")
    copy = Machine(project, tmp_path / "bin", {"SMELTER_JARS": str(PROJECT / ".jars")})
    copy.bin.mkdir()
    copy.has_java("17.0.15")
    return copy
