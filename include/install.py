"""Set-up: makes `.venv` and `.jars`, or says in one sentence why it cannot and leaves nothing half-made.

Run by `make setup` with the system's Python; standard library only. A second run checks and does nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
VENV = PROJECT / ".venv"
STAMP = VENV / ".smelter-complete"
LOG = PROJECT / "build" / "setup.log"
REQUIREMENTS = PROJECT / "requirements.txt"
NEEDED_GIB = 4
MISSING = 3  # the exit code for something that is unreachable, missing or full
AGAIN = "then run make setup again"


def main() -> int:
    """Run every step; any failure is one sentence on standard error and exit code 3."""
    if sys.version_info[:2] != (3, 11):
        return _stop(f"Python 3.11 is needed, but this is Python {_version()} ({sys.executable}): install python3.11")
    from smelter.errors import Unreachable  # only now: Smelter's own files are written for Python 3.11

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        return set_up()
    except Unreachable as problem:
        return _stop(f"{problem.what}: {problem.next_step}")
    except KeyboardInterrupt:
        return _stop("set-up was interrupted; nothing half-installed is left: run make setup again")
    except OSError as problem:
        return _stop(_sentence_of(problem))


def set_up() -> int:
    """Check the machine, then the environment, then the jars; each step prints one line."""
    from smelter.lake.java import find_java

    _done(f"Python {_version()}", time.monotonic())
    started = time.monotonic()
    _check_linux()
    java = find_java(os.environ)
    _done(f"Java {java.version}", started)
    ensure_environment()
    return subprocess.run(
        [VENV / "bin" / "python", "-m", "smelter.lake.jars"], check=False, env=_environment()
    ).returncode


def ensure_environment() -> None:
    """`.venv` with exactly the packages of the lock and Smelter itself; made anew unless its stamp says complete."""
    from smelter.lake.turns import one_at_a_time

    started = time.monotonic()
    if not _is_complete():
        with one_at_a_time(LOG.with_suffix(".lock"), lambda: print("  waiting for another set-up to finish")):
            if not _is_complete():
                _make_environment()
    _done("environment .venv, complete", started)


def _make_environment() -> None:
    """Packages, then Smelter, then the stamp; whatever ends this early, what was begun is removed."""
    packages, project = _digests()
    has_packages = packages in _stamped()
    try:
        LOG.write_bytes(b"")
        if not has_packages:
            _install_packages()
        STAMP.write_text(f"{packages}\n", "utf-8")  # if only Smelter itself fails to install, the packages may stay
        _install_smelter()
        STAMP.write_text(f"{packages}\n{project}\n", "utf-8")
    except BaseException:
        if not has_packages:
            shutil.rmtree(VENV, ignore_errors=True)
        raise


def _install_packages() -> None:
    _check_disk()
    started = time.monotonic()
    shutil.rmtree(VENV, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(VENV)], "the environment .venv could not be made")
    _done("new environment .venv", started)
    started = time.monotonic()
    count = len(re.findall(r"^[\w.-]+(?:\[[\w,.-]+\])?==", REQUIREMENTS.read_text("utf-8"), re.MULTILINE))
    uv = shutil.which("uv")
    tool = "uv" if uv else "pip"
    print(f"  installing {count} packages with {tool} ({'a minute' if uv else 'two or three minutes'})", flush=True)
    python = str(VENV / "bin" / "python")
    with_uv = [str(uv), "pip", "sync", "--require-hashes", "--compile-bytecode", "--python", python]
    # Left to find what packages need, pip takes `x[extra]>=1` for the newest x and not for the x of the lock.
    with_pip = [python, "-m", "pip", "install", "--no-input", "--require-hashes", "--no-deps", "-r"]
    _run([*(with_uv if uv else with_pip), str(REQUIREMENTS)], "the packages could not be installed")
    _done(f"{count} packages, each with its hash", started)


def _install_smelter() -> None:
    started = time.monotonic()
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--no-input", "--no-deps", "--no-build-isolation"]
    _run([*pip, "--editable", str(PROJECT)], "Smelter itself could not be installed")
    _done("command .venv/bin/smelt", started)


def _run(words: list[str], failed: str) -> None:
    """Run one step with its output in the log; a failure is explained from there."""
    from smelter.errors import Unreachable

    with LOG.open("ab") as log:
        begin = log.tell()
        code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment(), check=False)
    if code.returncode != 0:
        said = LOG.read_bytes()[begin:].decode("utf-8", "replace")
        cause, fix = cause_of(said)
        raise Unreachable(f"{failed}: {cause} (see {LOG.relative_to(PROJECT)})", next_step=fix)


def cause_of(said: str) -> tuple[str, str]:
    """Why a step failed, as its output tells it, and what to do."""
    # Lines of progress name packages, and a package may be called a proxy.
    said = re.sub(r"^ *(Collecting|Downloading|Using cached|Installing|Requirement) .*$", "", said, flags=re.MULTILINE)
    if re.search(r"No space left on device|Disk quota exceeded|os error 28|Errno 28", said):
        return "the disk is full", f"free some room, {AGAIN}"
    if re.search(r"DO NOT MATCH THE HASHES|[Hh]ash mismatch", said):
        return "a package does not match its hash in requirements.txt", "do not use it; try another network or mirror"
    if re.search(r"ensurepip is not|No module named (venv|ensurepip)", said):
        return "this Python lacks the venv module", f"install python3.11-venv, {AGAIN}"
    if re.search(
        r"NewConnectionError|Max retries exceeded|Name or service not known|name resolution|Connection refused"
        r"|Network is unreachable|timed out|[Cc]onnection error|[Cc]onnection broken|error sending request"
        r"|dns error|[Ff]ailed to fetch|[Pp]roxy|from versions: none",  # the last is all that pip says without retries
        said,
    ):
        return "the package index cannot be reached", f"check the network, {AGAIN}"
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
    return last[:200], f"read the log, {AGAIN}"


def _is_complete() -> bool:
    return _stamped() == list(_digests()) and (VENV / "bin" / "python").exists()


def _stamped() -> list[str]:
    try:
        return STAMP.read_text("utf-8").split()
    except OSError:
        return []


def _digests() -> tuple[str, str]:
    """What `.venv` must have been made from: packages for this Python in this place, and Smelter's own project file."""
    here = f"{_version()} {VENV}".encode()
    packages = hashlib.sha256(here + REQUIREMENTS.read_bytes()).hexdigest()
    project = hashlib.sha256((PROJECT / "pyproject.toml").read_bytes()).hexdigest()
    return f"packages:{packages}", f"project:{project}"


def _check_linux() -> None:
    from smelter.errors import Unreachable

    if sys.platform != "linux":
        raise Unreachable(f"Smelter runs on Linux only, and this is {sys.platform}", next_step="use a Linux machine")


def _check_disk() -> None:
    from smelter.errors import Unreachable

    free = shutil.disk_usage(PROJECT).free / 2**30
    if free < NEEDED_GIB:
        found = f"the disk is too full: set-up needs {NEEDED_GIB} GiB and {free:.1f} GiB are free in {PROJECT}"
        raise Unreachable(found, next_step=f"free some room, {AGAIN}")


def _sentence_of(problem: OSError) -> str:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: free some room, {AGAIN}"
    return f"set-up cannot use {problem.filename}: {(problem.strerror or str(problem)).lower()}"


def _environment() -> dict[str, str]:
    """The environment of every child: without the switch that would leave no bytecode and make every start slow."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def _version() -> str:
    return ".".join(str(part) for part in sys.version_info[:3])


def _done(what: str, started: float) -> None:
    print(f"✓ {what}  {time.monotonic() - started:.1f} s", flush=True)


def _stop(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return MISSING


if __name__ == "__main__":
    sys.exit(main())
