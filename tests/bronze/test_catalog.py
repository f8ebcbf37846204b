"""A catalog that somebody else holds: the driver waits, and what it could not commit is finished later."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from accounts import check
from crashes import do_at
from streams import Stream

from smelter.errors import Unreachable
from smelter.lake import catalog, layout
from smelter.lake.home import Lake


@contextmanager
def held(lake: Lake, seconds: float | None = None) -> Iterator[None]:
    """Somebody has the catalog to himself, for some seconds or for as long as the block lasts."""
    begun, over = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(lake.root / layout.CATALOG)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            begun.set()
            over.wait(seconds)

    holder = threading.Thread(target=hold)
    holder.start()
    begun.wait()
    try:
        yield
        if seconds is None:
            over.set()
    finally:
        if seconds is None:
            over.set()
        holder.join()


@pytest.mark.parametrize("point", ["prepared", "between_commits"])
def test_a_driver_waits_for_a_catalog_that_is_locked_for_some_seconds(stream: Stream, point: str) -> None:
    stream.add("a.json")
    stream.drain_here()
    stream.add("b.json")
    holds = held(stream.lake, seconds=5 if point == "prepared" else 1)
    stream.drain_here(do_at(point, lambda: holds.__enter__()))
    holds.__exit__(None, None, None)
    check(stream)


def test_a_batch_that_could_not_be_committed_is_finished_when_the_catalog_is_free_again(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "BUSY_SECONDS", 0.1)
    stream.add("a.json")
    stream.bronze()
    with held(stream.lake), pytest.raises(Unreachable, match="the catalog was locked"):
        stream.drain_here()
    stream.add("b.json")
    stream.drain_here()
    check(stream)
