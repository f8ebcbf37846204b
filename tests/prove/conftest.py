"""A ground that the tests of this room share: one scratch lake, one warm session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from smelter.prove.ground import Ground
from smelter.settings import Settings


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of its callback server and of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")
    config.addinivalue_line(
        "filterwarnings", "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
    )


@pytest.fixture(scope="session")
def ground() -> Iterator[Ground]:
    """The scratch lake and the session that rounds share."""
    ground = Ground.new(Settings())
    yield ground
    ground.leave(keep=False)
