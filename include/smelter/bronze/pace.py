"""How does a stream go, and who watches it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smelter.bronze.batch import Report


@dataclass(frozen=True)
class Pace:
    """How the stream goes: once through everything that has arrived, or on and on."""

    follow: bool = False
    trigger_seconds: float = 2.0
    max_files: int = 1000
    max_bytes: int = 0


@dataclass(frozen=True)
class Hooks:
    """For those who watch: a report per batch, sentences worth showing, a way to stop, and points for tests."""

    report: Callable[[Report], None] = lambda _report: None
    say: Callable[[str], None] = lambda _line: None
    should_stop: Callable[[], bool] = lambda: False
    reach: Callable[[str], None] = lambda _point: None
    task_reach: Callable[[str], None] | None = None
