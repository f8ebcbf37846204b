"""A run folder, and whatever was started in it is gone afterwards."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from smelter.supervise.driver import Launch
from smelter.supervise.lock import holder

TINY = Path(__file__).with_name("tiny_driver.py")


def tiny(folder: Path, how: str = "") -> Launch:
    """The command of a driver that needs no Spark."""
    return Launch([sys.executable, str(TINY), str(folder), how], dict(os.environ))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "run" / "streams" / "tiny"
    yield place
    found = holder(place)
    if found is not None and found.pid != os.getpid():
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGKILL)
