"""A driver may live where the server lives: requests and answers are files, and a refusal travels too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import tiny

from smelter.errors import Refused, Unreachable
from smelter.supervise.driver import Launch, is_alive
from smelter.supervise.serve import Server, ask_to_start, serving


@contextmanager
def a_server(lake: Path, launch_of: Callable[[str], Launch]) -> Iterator[list[str]]:
    over, said = threading.Event(), []

    def run() -> None:
        with serving(lake):
            ready.set()
            server = Server(lake, launch_of, said.append)
            while not over.wait(0.05):
                server.look()

    ready = threading.Event()
    server = threading.Thread(target=run)
    server.start()
    ready.wait()
    try:
        yield said
    finally:
        over.set()
        server.join()


def test_the_server_starts_the_driver_and_a_second_asker_gets_the_same(tmp_path: Path, folder: Path) -> None:
    with a_server(tmp_path, lambda _name: tiny(folder)) as said:
        first = ask_to_start(tmp_path, "tiny", "ann")
        second = ask_to_start(tmp_path, "tiny", "bob")
    assert (first.is_new, second.is_new) == (True, False)
    assert first.run == second.run
    assert is_alive(folder, first.run), "it outlives the server"
    assert "asked by ann" in said[0]


def test_what_the_server_refuses_reaches_the_asker(tmp_path: Path) -> None:
    def refuse(name: str) -> Launch:
        raise Refused(f"there is no contract for `{name}`")

    with a_server(tmp_path, refuse), pytest.raises(Refused, match="there is no contract for `tiny`"):
        ask_to_start(tmp_path, "tiny", "ann")


def test_a_start_that_fails_for_want_of_room_is_told_and_the_server_goes_on(tmp_path: Path, folder: Path) -> None:
    def nothing_fits(name: str) -> Launch:
        if name == "full":
            raise OSError(28, "No space left on device")
        return tiny(folder)

    with a_server(tmp_path, nothing_fits):
        with pytest.raises(Unreachable, match="No space left on device"):
            ask_to_start(tmp_path, "full", "ann")
        assert ask_to_start(tmp_path, "tiny", "ann").is_new


def test_two_who_ask_at_once_are_both_answered_and_a_slow_start_holds_up_no_other_stream(
    tmp_path: Path, folder: Path
) -> None:
    def launch_of(name: str) -> Launch:
        if name == "slow":
            time.sleep(3)
            raise Refused("it took long")
        return tiny(folder, "slow")

    with a_server(tmp_path, launch_of), ThreadPoolExecutor() as askers:
        slow = askers.submit(ask_to_start, tmp_path, "slow", "ann")
        both = [askers.submit(ask_to_start, tmp_path, "tiny", name) for name in ("bob", "eve")]
        assert len({one.result().run for one in both}) == 1
        assert not slow.done()
        with pytest.raises(Refused, match="it took long"):
            slow.result()


def test_without_a_server_the_asker_is_told_at_once_and_leaves_no_request(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(Unreachable, match="none answers") as told:
        ask_to_start(tmp_path, "tiny", "ann")
    assert "smelt stream serve" in told.value.next_step
    assert list(folder.iterdir()) == []


def test_a_server_that_does_not_answer_is_given_up_and_the_request_is_taken_back(tmp_path: Path, folder: Path) -> None:
    with serving(tmp_path), pytest.raises(Unreachable, match="none answers"):
        ask_to_start(tmp_path, "tiny", "ann", patience_seconds=0.3)
    assert list(folder.iterdir()) == []


def test_a_request_that_is_old_starts_nothing(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    request = folder / "start-1.request"
    request.write_text("ann")
    os.utime(request, (0, 0))
    Server(tmp_path, lambda _name: pytest.fail("nothing is to be started"), print).look()
    assert list(folder.iterdir()) == []


def test_there_is_one_server_of_a_lake(tmp_path: Path) -> None:
    with serving(tmp_path), pytest.raises(Refused, match="there is a server of streams already"), serving(tmp_path):
        pass
