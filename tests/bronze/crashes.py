"""Crashes: a driver that ends at a point, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable

BEFORE_THE_INTENT = ("planned", "task_writing", "judged")
AFTER_THE_INTENT = ("prepared", "between_commits", "committed", "done")
POINTS = BEFORE_THE_INTENT + AFTER_THE_INTENT


class Crash(Exception):
    """The end of a driver at a point. Nothing in the house knows it, so nothing on disk is put in order."""


def crash_at(point: str, nth: int = 1) -> Callable[[str], None]:
    """Ends the driver when it reaches the point for the nth time."""
    reached = 0

    def reach(here: str) -> None:
        nonlocal reached
        reached += here == point
        if here == point and reached == nth:
            raise Crash(point)

    return reach


def do_at(point: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Something happens when the driver reaches the point for the first time."""
    done = False

    def reach(here: str) -> None:
        nonlocal done
        if here == point and not done:
            done = True
            act()

    return reach
