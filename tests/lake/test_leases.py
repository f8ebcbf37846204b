"""One builder per table: the lease dies with its holder, but not before what its holder left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from smelter.errors import Refused
from smelter.lake.home import Lake
from smelter.lake.lease import holder_of, lease
from smelter.settings import Settings

HOLDER = """
import subprocess, sys, time
from pathlib import Path
from smelter.lake.home import Lake
from smelter.lake.lease import lease
from smelter.settings import Settings
with lease(Lake.at(Settings(lake=Path(sys.argv[1]))), "silver", "events", "a test", 0) as held:
    child = subprocess.Popen(["sleep", sys.argv[2]], stdout=subprocess.DEVNULL)
    held.share_with(child.pid)
    print(child.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def small(tmp_path: Path) -> Lake:
    return Lake.at(Settings(lake=tmp_path / "lake"))


def hold(lake: Lake, writer_seconds: float) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", HOLDER, str(lake.root), str(writer_seconds)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_second_builder_is_refused_with_the_name_of_the_first(small: Lake) -> None:
    holder = hold(small, 1)
    try:
        said: list[str] = []
        assert f"pid {holder.pid}" in (holder_of(small, "silver", "events") or "")
        with (
            pytest.raises(Refused, match=rf"a test \(pid {holder.pid}"),
            lease(small, "silver", "events", "me", 0.3, said.append),
        ):
            pass
        assert len(said) == 1
        with lease(small, "silver", "others", "me", 0):
            pass
    finally:
        holder.kill()
        holder.wait()
        holder.communicate()


def test_a_lease_is_free_when_its_holder_gave_it_back(small: Lake) -> None:
    with lease(small, "silver", "events", "one", 0):
        assert holder_of(small, "silver", "events") is not None
    assert holder_of(small, "silver", "events") is None
    with lease(small, "silver", "events", "two", 0):
        pass


def test_a_killed_holder_is_waited_for_until_its_writer_is_gone(small: Lake) -> None:
    holder = hold(small, 1.5)
    started = time.monotonic()
    holder.kill()
    holder.wait()
    holder.communicate()
    with pytest.raises(Refused), lease(small, "silver", "events", "me", 0):
        pass
    with lease(small, "silver", "events", "me", 30):
        assert time.monotonic() - started > 1


def test_an_error_in_one_process_does_not_keep_it_from_its_own_next_try(small: Lake) -> None:
    with subprocess.Popen(["sleep", "60"]) as writer:
        with suppress(ValueError), lease(small, "silver", "events", "me", 0) as held:
            held.share_with(writer.pid)
            raise ValueError
        with lease(small, "silver", "events", "me", 0):
            pass
        writer.kill()
