"""How does it end? Everything is asked first, then killed, in an order in which nobody takes a stop for a failure."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from smelter.embedded.census import Process, families, processes_of
from smelter.embedded.components import SAMPLE, STOP_ORDER
from smelter.embedded.home import Home
from smelter.embedded.standing import Child, read_standing
from smelter.errors import Refused
from smelter.processes import start_ticks, this_host
from smelter.run_folders import stream_folder
from smelter.supervise.lock import Holder, holder
from smelter.supervise.requests import ask_to_stop

PATIENCE_SECONDS = 8.0  # after the first three; a task that runs longer is run again after the next start
DRIVER_PATIENCE_SECONDS = 90.0  # a driver finishes its running batch
KEEPER_PATIENCE_SECONDS = 75.0  # as long as all of its children may take, one after the other
# Airflow's triggerer sits out ten seconds after its triggers have ended; asked again, it goes at once.
_ASK_AGAIN_SECONDS = 3.0
_AFTER_KILL_SECONDS = 2.0
_MOST_ROUNDS = 5

Say = Callable[[str, float], None]


def stop_children(children: Iterable[Child], tell: Callable[[Child, bool], None] = lambda _child, _went: None) -> None:
    """Stop what a keeper started, one after the other in the order of stopping; tells which went by themselves."""
    for child in sorted(children, key=lambda child: STOP_ORDER.index(child.name)):
        # The producer finishes its file on SIGINT, and would leave half of one on SIGTERM.
        number = signal.SIGINT if child.name == SAMPLE else signal.SIGTERM
        tell(child, _end(child.pid, child.ticks, number, PATIENCE_SECONDS, is_group=True))


def clear_orphans(home: Home) -> list[Process]:
    """Stop what a dead keeper left, so that nothing runs twice; drivers stay, because their DAGs find them again."""
    standing, left = read_standing(home), _without_drivers(processes_of(home))
    if standing is not None:
        stop_children(standing.children)
    _stop_processes(lambda: _without_drivers(processes_of(home)))
    return left


def end_idle_workers(home: Home, scheduler: int) -> int:
    """End the workers that a killed scheduler left, as soon as they have no task: nobody will give them one."""
    left = [one for one in processes_of(home) if one.is_idle_worker and one.parent != scheduler]
    for one in left:
        _signal(one.pid, one.ticks, signal.SIGKILL)
    return len(left)


def bring_down(home: Home, say: Say) -> bool:
    """Stop the platform of a home, however much of it there is; tells whether there was anything. Safe to repeat.

    Airflow goes first, and its drivers last: a trigger that saw its driver stop would call that a failure, and a
    scheduler would start it again. Tasks go between: one of them may be starting a driver just now.
    """
    was_kept = _stop_keeper(home, say)
    began, left = time.monotonic(), clear_orphans(home)
    if left:
        say(f"left over: {_titles(left)}", time.monotonic() - began)
    drivers = _stop_drivers(home, say)
    late = _stop_processes(lambda: processes_of(home))  # a JVM ends with its driver, most often before this
    home.standing.unlink(missing_ok=True)
    return bool(was_kept or left or drivers or late)


def _stop_keeper(home: Home, say: Say) -> bool:
    """Ask the keeper, which stops its children in their order; one that does not answer is killed."""
    keeper, began = holder(home.root), time.monotonic()
    if keeper is None:
        return False
    _refuse_elsewhere(keeper)
    standing = read_standing(home)
    ended = _end(keeper.pid, keeper.started_ticks, signal.SIGTERM, KEEPER_PATIENCE_SECONDS)
    names = ", ".join(child.name for child in standing.children) if standing and standing.children else "nothing yet"
    how = "" if ended else "; the keeper did not answer and was killed"
    say(f"keeper (pid {keeper.pid}) with {names}{how}", time.monotonic() - began)
    return True


def _refuse_elsewhere(keeper: Holder) -> None:
    if keeper.host and keeper.host != this_host():
        raise Refused(
            f"the platform of this lake runs in another container or on another host, as pid {keeper.pid} there",
            data="nothing was stopped",
            next_step="run smelt down there",
        )


def _stop_drivers(home: Home, say: Say) -> int:
    """Ask every driver at once and wait for their running batches; one that takes too long is killed."""
    drivers, began = [process for process in processes_of(home) if process.is_driver], time.monotonic()
    for driver in drivers:
        _ask_driver(home, driver)
    for driver in drivers:
        left = max(0.1, began + DRIVER_PATIENCE_SECONDS - time.monotonic())
        how = "" if _gone(driver.pid, driver.ticks, left) else " had to be killed: its batch is finished by the next"
        _signal(driver.pid, driver.ticks, signal.SIGKILL)
        say(f"stream {driver.dataset} (pid {driver.pid}){how}", time.monotonic() - began)
    return len(drivers)


def _ask_driver(home: Home, driver: Process) -> None:
    """Ask by its own request file, which may be said twice: a second signal would cut the batch off."""
    folder = stream_folder(home.lake, driver.dataset)
    held_by = holder(folder)
    if held_by is not None and held_by.pid == driver.pid and held_by.run:
        ask_to_stop(folder, held_by.run, "smelt down")
    else:
        _signal(driver.pid, driver.ticks, signal.SIGTERM)


def _without_drivers(processes: Sequence[Process]) -> list[Process]:
    spared = families((process for process in processes if process.is_driver), processes)
    return [process for process in processes if process.pid not in spared]


def _titles(processes: Sequence[Process]) -> str:
    others = f" and {len(processes) - 3} more" if len(processes) > 3 else ""
    return "; ".join(f"{process.title} (pid {process.pid})" for process in processes[:3]) + others


def _stop_processes(find: Callable[[], list[Process]]) -> bool:
    """Ask all of them, wait, kill, and again for those that were started meanwhile; tells whether there were any."""
    for number in range(_MOST_ROUNDS):
        found = find()
        for process in found:
            _signal(process.pid, process.ticks, signal.SIGTERM)
        end = time.monotonic() + PATIENCE_SECONDS
        for process in found:
            if not _gone(process.pid, process.ticks, max(0.0, end - time.monotonic())):
                _signal(process.pid, process.ticks, signal.SIGKILL)
                _gone(process.pid, process.ticks, _AFTER_KILL_SECONDS)
        if not found:
            return number > 0
    return True


def _end(pid: int, ticks: int, number: int, patience: float, *, is_group: bool = False) -> bool:
    """Ask, ask a group again, and kill; tells whether it went by itself."""
    _signal(pid, ticks, number)
    if is_group and not _gone(pid, ticks, _ASK_AGAIN_SECONDS):
        _signal(pid, ticks, number)
    if _gone(pid, ticks, patience):
        return True
    _signal(pid, ticks, signal.SIGKILL, os.killpg if is_group else os.kill)
    _gone(pid, ticks, _AFTER_KILL_SECONDS)
    return False


def _signal(pid: int, ticks: int, number: int, kill: Callable[[int, int], None] = os.kill) -> None:
    """Signal a process, if it is still the same one."""
    if start_ticks(pid) == ticks:
        with suppress(ProcessLookupError):
            kill(pid, number)


def _gone(pid: int, ticks: int, seconds: float) -> bool:
    """Wait until the process has ended, also if its parent has not noticed yet."""
    end = time.monotonic() + seconds
    while start_ticks(pid) == ticks:
        if time.monotonic() >= end:
            return False
        time.sleep(0.05)
    return True
