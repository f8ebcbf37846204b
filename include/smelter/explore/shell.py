"""DuckDB's own shell over the live lake, in a process that reads and writes nothing but its history."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import duckdb

from smelter import walled
from smelter.errors import Unreachable
from smelter.explore.quoting import quoted_text
from smelter.explore.script import served_script
from smelter.explore.service import Service

_SET_UP = "make setup"
_DEVICES = Path("/dev")  # the terminal, and where nothing is kept
_QUIET = ".startup_text none\n.mode trash\n"  # statements of a start answer too
# By `.output` and back the shell would forget that it has a terminal, and fit nothing into it.
_LOUD = '.mode duckbox\n.prompt "lake D " "  ... "\n'


def run_shell(service: Service, lake: Path, *, unsafe: bool) -> int:
    """Open the shell, and wait for its end; its exit code.

    The token is in a file that only its owner may read, and that goes with the shell.
    """
    program = _program()
    script = served_script(service, lake, locked=not unsafe)
    with tempfile.TemporaryDirectory(prefix="smelter-shell-", ignore_cleanup_errors=True) as folder:
        workspace = Path(folder)
        start = workspace / "start.sql"
        spill = f"set temp_directory = {quoted_text(str(workspace / 'spill'))};\n"
        safe = "" if unsafe else ".safe_mode\n"
        start.touch(mode=0o600)
        start.write_text(f"{_QUIET}{spill}{script.text()}{_LOUD}{safe}", "utf-8")
        words = [str(program), "-init", str(start)]
        if not unsafe:
            words = _behind_a_wall(words, workspace)
        with subprocess.Popen(words) as shell, _signals_are_for(shell):
            return shell.wait()


def _program() -> Path:
    """DuckDB's shell, of the very version of the library: its extensions fit no other."""
    package = find_spec("duckdb_cli")
    try:
        found = version("duckdb-cli")
    except PackageNotFoundError:
        found = ""
    if package is None or package.origin is None or not found:
        raise Unreachable("DuckDB's shell is not installed: its package is duckdb-cli", next_step=_SET_UP)
    if found != duckdb.__version__:
        raise Unreachable(
            f"DuckDB's shell is of version {found}, and its library of {duckdb.__version__}", next_step=_SET_UP
        )
    return Path(package.origin).parent / "duckdb"


def _behind_a_wall(words: list[str], workspace: Path) -> list[str]:
    """What DuckDB's lock leaves open is writing into the folder of the tables; the kernel closes that."""
    history = Path(os.environ.get("DUCKDB_HISTORY") or Path.home() / ".duckdb_history")
    with suppress(OSError):  # a home that is to read only: then without a history
        history.touch(mode=0o600)
    return [sys.executable, "-P", "-m", walled.__name__, *map(str, (workspace, history, _DEVICES)), "--", *words]


@contextmanager
def _signals_are_for(shell: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C stops a question there; here it would take the catalog away. Whatever ends us ends the shell first."""

    def end(_number: int, _frame: FrameType | None) -> None:
        shell.terminate()

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, act in before.items():
            signal.signal(number, act)
