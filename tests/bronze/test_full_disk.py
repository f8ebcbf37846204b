"""A disk that is full: said in one sentence, and when there is room again every record is in one place."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from drivers import start

pytestmark = pytest.mark.jvm
NAMESPACES = [("unshare", "-rm"), ("unshare", "-m")]


def a_namespace_of_its_own(tmp_path: Path) -> tuple[str, ...]:
    """How this machine lets a process mount file systems that nobody else sees."""
    place = tmp_path / "probe"
    place.mkdir()
    for wrapper in NAMESPACES:
        words = [*wrapper, "mount", "-t", "tmpfs", "tmpfs", str(place)]
        try:
            if subprocess.run(words, capture_output=True, check=False).returncode == 0:
                return wrapper
        except FileNotFoundError:
            continue
    pytest.skip("a small file system to fill needs `unshare -rm` (user namespaces) or root")


def test_a_full_disk_stops_the_stream_with_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    wrapper = a_namespace_of_its_own(tmp_path)
    process = start("full_disk.py", tmp_path, log=tmp_path / "said", wrapper=wrapper)
    assert process.wait(timeout=180) == 0, (tmp_path / "said").read_text()
    lines = [line for line in (tmp_path / "said").read_text().splitlines() if line.startswith("{")]
    outcomes = {outcome.pop("place"): outcome for outcome in map(json.loads, lines)}
    said = {place: outcome.pop("said") for place, outcome in outcomes.items()}
    nothing_wrong = {"missing": [], "doubled": [], "unexplained": []}
    assert outcomes == dict.fromkeys(("tables", "checkpoints", "receipts", "scratch"), nothing_wrong)
    for place in ("tables", "checkpoints", "receipts"):
        assert "disk is full" in said[place] or "No space left" in said[place], place
