"""What people want of a stream stays until they want otherwise; what is asked of one driver ends with it."""

from __future__ import annotations

from pathlib import Path

from smelter.supervise.requests import (
    WANTED,
    Wanted,
    Wish,
    ask_to_stop,
    forget_requests,
    want,
    wanted,
    who_asked_to_stop,
)


def test_a_stream_is_wanted_to_run_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    assert wanted(tmp_path) == Wanted()
    said = want(tmp_path, Wish.PAUSE, "ann", "too many letters")
    assert wanted(tmp_path) == said
    assert str(said).startswith("paused by ann at ")
    assert str(said).endswith("Z: too many letters")
    want(tmp_path, Wish.RUN, "bob")
    assert wanted(tmp_path).wish is Wish.RUN


def test_a_wish_that_cannot_be_read_holds_the_stream_and_says_what_to_do(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"wish": "dance", "by": "", "reason": "", "since": 0}'):
        (tmp_path / WANTED).write_text(text)
        assert wanted(tmp_path).wish is Wish.PAUSE
        assert "smelt stream resume" in wanted(tmp_path).reason


def test_a_request_to_stop_is_heard_by_the_driver_that_it_names_and_by_no_other(tmp_path: Path) -> None:
    ask_to_stop(tmp_path, "aa11", "ann")
    assert who_asked_to_stop(tmp_path, "aa11") == "ann"
    assert who_asked_to_stop(tmp_path, "bb22") is None
    assert wanted(tmp_path).wish is Wish.RUN


def test_a_new_driver_forgets_what_was_asked_of_others_and_keeps_its_own(tmp_path: Path) -> None:
    ask_to_stop(tmp_path, "aa11", "ann")
    ask_to_stop(tmp_path, "bb22", "ann")
    forget_requests(tmp_path, but="bb22")
    assert who_asked_to_stop(tmp_path, "aa11") is None
    assert who_asked_to_stop(tmp_path, "bb22") == "ann"


def test_a_name_that_is_no_run_writes_nothing_anywhere(tmp_path: Path) -> None:
    for run in ("", "../x", "a/b", "ZZ", "$(touch x)"):
        ask_to_stop(tmp_path, run, "ann")
    assert list(tmp_path.iterdir()) == []
