"""One platform for all tests of this room: started from nothing by the command that people use, and stopped by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Browser, a_browser, ensure_chromium
from platforms import Platform, drivers_of


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """`smelt up --sample` on a new lake, with contracts of its own; afterwards `smelt down` leaves nothing running."""
    one = Platform(Path(tmp_path_factory.mktemp("platform")) / "lake")
    one.take_contracts()
    try:
        print(one.smelt("up", "--sample", "--port", str(one.port)).stdout)
        yield one
    finally:
        print(one.smelt("down", ok=False).stdout)
        one.explorer.close()
    assert one.processes() == []
    assert drivers_of(one.lake) == []


@pytest.fixture
def browser(platform: Platform) -> Iterator[Browser]:
    ensure_chromium()
    with a_browser(f"http://127.0.0.1:{platform.port}") as one:
        yield one
