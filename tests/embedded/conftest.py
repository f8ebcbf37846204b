"""Platforms of small programs, of which nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from platforms import Platform, free_port
from small_keeper import hurry


def pytest_configure(config: pytest.Config) -> None:
    """A keeper outlives whoever started it, on purpose."""
    config.addinivalue_line("filterwarnings", "ignore:subprocess .* is still running:ResourceWarning")


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    hurry()
    one = Platform(tmp_path / "lake", free_port())
    yield one
    one.down()
    assert one.processes() == []
