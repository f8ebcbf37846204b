"""Every check and the tests of every room, with the seconds of each. Usage: run_rooms.py [--lint | ROOM ...]"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
TESTS = PROJECT / "tests"
REPORTS = PROJECT / "build" / "tests"
BIN = f"{Path(sys.executable).parent}/"
WORKERS = os.environ.get("ROOM_WORKERS", "2")  # tests/setup on two cores: 30 s, and 49 s with none
# One JVM per worker, and tests of a file share what they set up; tests/bronze: 185 s, and 294 s with one worker.
BY_FILE = {
    "bench",
    "bronze",
    "dead_letters",
    "explore_live",
    "gold",
    "journeys",
    "lake",
    "maintenance",
    "prove",
    "quality",
    "silver",
}
ONE_PLATFORM = {"platform"}  # its files share one running Airflow, and go on from what the others did
NO_TESTS = 5  # pytest's exit code when it found nothing to run
LINTS: dict[str, list[list[str]]] = {
    "style": [[BIN + "ruff", "check", "."], [BIN + "ruff", "format", "--check", "."]],
    "imports": [[BIN + "lint-imports"]],
    "types": [[BIN + "mypy"], [BIN + "mypy", "include/install.py", "tests/run_rooms.py"]],
}


@dataclass(frozen=True)
class Outcome:
    """What became of one check or of one room's tests."""

    name: str
    seconds: float
    ok: bool
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""


def main(arguments: list[str]) -> int:
    """Run what was asked for, print the table, and leave with 1 if anything failed."""
    rooms = [] if arguments == ["--lint"] else arguments or room_names()
    outcomes = [] if arguments and rooms else [run_lint(name) for name in LINTS]
    outcomes += [run_room(room) for room in rooms]
    print_outcomes(outcomes, with_tests=bool(rooms))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


def room_names() -> list[str]:
    """The folders of tests/, each of which mirrors a room."""
    return sorted(place.name for place in TESTS.iterdir() if place.is_dir() and place.name[0] not in "._")


def run_lint(name: str) -> Outcome:
    """Run one check; its own words are shown only when it fails."""
    started = time.monotonic()
    for words in LINTS[name]:
        run = subprocess.run(words, cwd=PROJECT, env=_environment(), capture_output=True, text=True, check=False)
        if run.returncode != 0:
            print(f"--- {name}\n{run.stdout}{run.stderr}", flush=True)
            return Outcome(name, time.monotonic() - started, ok=False, note="see above")
    return Outcome(name, time.monotonic() - started, ok=True)


def run_room(room: str) -> Outcome:
    """Run the tests of one room in their own process; a room without tests has failed."""
    print(f"--- {room}", flush=True)
    started = time.monotonic()
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{room}.xml"
    report.unlink(missing_ok=True)
    workers = "0" if room in ONE_PLATFORM else WORKERS
    words = [sys.executable, "-m", "pytest", f"tests/{room}", "-q", "-n", workers, f"--junit-xml={report}"]
    words += ["--dist", "loadfile"] if room in BY_FILE and workers != "0" else []
    code = subprocess.run(words, cwd=PROJECT, env=_environment(), check=False).returncode
    seconds = time.monotonic() - started
    if not report.exists() or code == NO_TESTS:
        return Outcome(room, seconds, ok=False, failed=1, note="no test ran")
    passed, failed, skipped = _counts(report)
    failed = max(failed, int(code != 0))
    return Outcome(room, seconds, code == 0, passed, failed, skipped)


def print_outcomes(outcomes: list[Outcome], *, with_tests: bool) -> None:
    """The table of rooms and, alone on the last line, the sum of their tests."""
    print(f"\n{'room':<16}{'seconds':>8}  outcome")
    for one in outcomes:
        tests = f": {one.passed} passed, {one.failed} failed, {one.skipped} skipped" if one.passed or one.failed else ""
        note = f" ({one.note})" if one.note else ""
        print(f"{one.name:<16}{one.seconds:>8.1f}  {'ok' if one.ok else 'FAILED'}{tests}{note}")
    print(f"{'total':<16}{sum(one.seconds for one in outcomes):>8.1f}")
    if with_tests:
        print(f"{sum(one.passed for one in outcomes)} passed, {sum(one.failed for one in outcomes)} failed", flush=True)


def _counts(report: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped tests of pytest's own report."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return total - failures - errors - skipped, failures + errors, skipped


def _environment() -> dict[str, str]:
    """Tests start from the defaults: without the settings of whoever runs them."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SMELTER_")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
