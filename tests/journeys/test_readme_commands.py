"""The README's commands do what it says. `make demo` and `make test` themselves are run by .ci/run on a clean clone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from pages import PROJECT

from smelter.prove.processes import QUICK_JVM

BLOCKS = re.findall(r"```bash\n(.*?)```", (PROJECT / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.jvm
def test_every_command_of_the_readme_works(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(PROJECT / ".venv")
    environ = {**os.environ, "JDK_JAVA_OPTIONS": QUICK_JVM}
    commands = [line for block in BLOCKS for line in block.splitlines() if line and not line.startswith("make ")]
    assert len(commands) >= 4
    for command in commands:
        words = ["bash", "-euc", command]
        done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
