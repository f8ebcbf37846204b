"""A driver that follows, in its own process: stopped and woken, asked to stop, made to stop, and robbed of its lock."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import account_of, check
from drivers import Following, wait_until, write_contract
from streams import Stream

from smelter.cli.main import run
from smelter.supervise.heartbeat import State, read_heartbeat
from smelter.supervise.lock import holder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


def state_of(stream: Stream) -> State | None:
    beat = read_heartbeat(stream.lake.run_folder(stream.name))
    return None if beat is None else beat.state


def test_a_driver_that_was_stopped_and_woken_goes_on_alone_and_a_signal_lets_it_finish_its_batch(
    stream: Stream,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    contracts = write_contract(stream, tmp_path / "contracts").parent
    monkeypatch.setenv("SMELTER_CONTRACTS", str(contracts))
    stream.add("a.json")
    with Following(stream, tmp_path) as driver:
        driver.shut()
        driver.wait_until_it_waits()
        driver.signal(signal.SIGSTOP)
        stream.add("b.json")
        assert run(["--lake", str(stream.lake.root), "ingest", stream.name, "--drain"]) == 1
        assert f"already has a driver: pid {driver.process.pid}" in capsys.readouterr().err
        driver.signal(signal.SIGCONT)
        driver.open()
        driver.wait_until_read("a.json", "b.json")
        driver.shut()
        stream.add("c.json")
        driver.wait_until_it_waits()
        driver.signal(signal.SIGTERM)
        wait_until(lambda: state_of(stream) is State.STOPPING, "it said that it will stop")
        late = stream.add("d.json")
        driver.open()
        assert driver.ends() == 0, (tmp_path / "said").read_text()
    assert state_of(stream) is State.STOPPED
    sent_late = stream.sent.pop(late.as_uri())
    check(stream)  # the running batch is in the tables, and nothing of what came later
    stream.sent[late.as_uri()] = sent_late
    stream.drain(spark)
    check(stream)


def test_a_second_signal_stops_at_once_and_the_next_driver_goes_on(
    stream: Stream, spark: SparkSession, tmp_path: Path
) -> None:
    stream.add("a.json")
    with Following(stream, tmp_path) as driver:
        driver.wait_until_read("a.json")
        driver.shut()
        stream.add("b.json")
        driver.wait_until_it_waits()
        driver.signal(signal.SIGTERM)
        wait_until(lambda: state_of(stream) is State.STOPPING, "it heard the first signal")
        driver.signal(signal.SIGTERM)
        assert driver.ends() == 128 + signal.SIGTERM
    assert holder(stream.lake.run_folder(stream.name)) is None
    stream.add("c.json")
    stream.drain(spark)
    check(stream)


def test_a_driver_that_lost_its_lock_and_slept_while_another_worked_doubles_nothing(
    stream: Stream, spark: SparkSession, tmp_path: Path
) -> None:
    stream.add("a.json")
    with Following(stream, tmp_path) as driver:
        driver.wait_until_read("a.json")
        driver.shut()
        stream.add("b.json")
        driver.wait_until_it_waits()
        driver.signal(signal.SIGSTOP)
        stream.lock_is_lost()
        stream.add("c.json")
        stream.drain(spark)
        check(stream)
        driver.signal(signal.SIGCONT)
        driver.open()
        stream.add("d.json")
        wait_until(
            lambda: driver.process.poll() is not None or stream.has_read("d.json"), "the woken driver ended or went on"
        )
    assert account_of(stream).doubled == []
    stream.drain(spark)
    check(stream)
