"""The README shows what is there, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text("utf-8")


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
