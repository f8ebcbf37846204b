"""The blocks of a page, run as a reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
_BLOCK = re.compile(r"```(bash|sql|python)\n(.*?)```", re.DOTALL)


def blocks_of(page: str) -> list[tuple[str, str]]:
    """The language and the text of each block, in order."""
    return _BLOCK.findall((PROJECT / "docs" / page).read_text("utf-8"))


def run_block(language: str, text: str, lake: Path, folder: Path) -> str:
    """Run a block in a folder; what it printed. `make` and a shell for a person are left out."""
    lines = [line for line in text.splitlines() if not re.match(r"make |smelt sql +#", line)]
    words = {
        "bash": ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        "sql": ["smelt", "sql", text],
        "python": [sys.executable, "-c", text],
    }[language]
    commands = Path(sys.executable).parent
    environ = {**os.environ, "SMELTER_LAKE": str(lake), "PATH": f"{commands}:{os.environ['PATH']}"}
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (text, done.stdout, done.stderr)
    return done.stdout
