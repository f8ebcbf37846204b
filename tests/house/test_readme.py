"""The README's commands do what it says. `make demo` and `make test` themselves are run by .ci/run on a clean clone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import yaml

from smelter.prove.processes import QUICK_JVM

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)


def test_every_command_of_the_readme_works(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(PROJECT / ".venv")
    environ = {**os.environ, "JDK_JAVA_OPTIONS": QUICK_JVM}
    commands = [line for block in BLOCKS for line in block.splitlines() if line and not line.startswith("make ")]
    assert len(commands) >= 4
    for command in commands:
        words = ["bash", "-euc", command]
        done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)


def test_the_readme_shows_the_shipped_contract_as_it_is() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    shipped = (PROJECT / "include" / "contracts" / "events.yaml").read_text("utf-8")
    assert yaml.safe_load(shown) == yaml.safe_load(shipped)


def test_every_make_target_of_the_readme_is_in_the_menu() -> None:
    menu = (PROJECT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"`?make ([a-z]+)", README)) - {"prints"}:
        assert re.search(rf"^{target}:", menu, re.MULTILINE), target


def test_every_link_of_the_readme_leads_somewhere() -> None:
    for page in [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), (page.name, link)
