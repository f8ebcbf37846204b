"""The tests can fail: with either of the two checks taken out, the full check finds records twice."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from accounts import account_of, check
from crashes import Crash, crash_at
from streams import Stream

from smelter.bronze.books import Books
from smelter.lake import commits
from smelter.lake.batches import Unit


def a_batch_that_is_done_again(stream: Stream) -> None:
    """Killed after its first commit and after both: both tables have what the next start is about to commit."""
    for number, point in enumerate(("between_commits", "committed")):
        stream.add(f"{number}.json")
        with pytest.raises(Crash):
            stream.drain_here(crash_at(point), batch=number)
    stream.drain_here(batch=2)


def files_that_are_handed_out_again(stream: Stream) -> None:
    """What a Spark that has lost its commit log does."""
    stream.add("a.json")
    stream.drain_here(batch=0)
    stream.drain_here(batch=1)


def test_with_both_checks_in_place_both_stories_end_well(stream: Stream) -> None:
    a_batch_that_is_done_again(stream)
    files_that_are_handed_out_again(stream)
    check(stream)


def test_without_the_token_check_records_are_doubled(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "is_committed", lambda *_, **__: False)
    monkeypatch.setattr(commits._AppendOnce, "_validate_concurrency", lambda _: None)
    a_batch_that_is_done_again(stream)
    found = account_of(stream)
    assert len(found.doubled) == 4
    assert not found.missing


def test_without_the_unit_check_records_are_doubled(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(_books: Books, units: Iterable[Unit]) -> list[Unit]:
        return list(units)

    monkeypatch.setattr(Books, "not_committed", everything)
    files_that_are_handed_out_again(stream)
    found = account_of(stream)
    assert len(found.doubled) == 4
    assert not found.missing
