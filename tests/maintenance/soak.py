"""Everything at once, for minutes, with random kills: the long form is `make soak`, the short one a test.

A stream follows its landing folder, silver is built every few seconds, maintenance runs in a loop, letters come home
as contracts learn their fields; each is a process of its own, and now and then one of them is killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from smelter.contracts import Contract, parse_contract
from smelter.lake.evolution import apply_contract
from smelter.lake.home import BRONZE, DEAD_LETTERS, SILVER, Lake
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.care import Wishes, plan
from smelter.maintenance.journal import history, set_aside
from smelter.maintenance.steps import Step
from smelter.maintenance.subjects import subjects_of
from smelter.settings import Settings

NAME = "orders"
WORKERS = ("stream", "silver", "maintain", "replay")
_WORKER = Path(__file__).with_name("soak_worker.py")
_POLL_SECONDS = 0.2


def contract_of(version: int) -> Contract:
    """Each version has learnt one field more."""
    fields = "".join(f"  f{number}: {{type: string}}\n" for number in range(1, version))
    text = (
        f"dataset: {NAME}\nversion: {version}\nfields:\n  id: {{type: long, required: true}}\n{fields}"
        f"source: {{files: landing/{NAME}}}\nsilver: {{key: [id]}}\n"
        "maintenance: {snapshots: 1m, most_snapshots: 10, quiet: 5s, target_file: 1MB}\n"
    )
    return parse_contract(text, "soak.yaml")


@dataclass
class Found:
    """What became of it."""

    files: int = 0
    records: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    rounds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Soak:
    """One lake, its processes, and what they said."""

    def __init__(self, lake: Lake, seconds: float, seed: int, pause: tuple[float, float]) -> None:
        self._lake, self._seconds, self._chance, self._pause = lake, seconds, random.Random(seed), pause
        self._landing = lake.root / "landing" / NAME
        self._landing.mkdir(parents=True)
        self._logs = lake.root / "soak"
        self._logs.mkdir()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._version, self._ids = 1, 0
        self.found = Found()

    def run(self) -> Found:
        """Produce and kill until time is up; then let everything come to its end, and look."""
        started = time.monotonic()
        next_kill, next_version = started + self._chance.uniform(*self._pause), started + self._seconds / 6
        while (now := time.monotonic()) < started + self._seconds:
            self._keep_running()
            self._arrive()
            if now >= next_kill:
                self._kill(self._chance.choice(WORKERS))
                next_kill = now + self._chance.uniform(*self._pause)
            if now >= next_version and self._lake.has_catalog and self._bronze_is_there():
                self._version += 1
                apply_contract(self._lake, contract_of(self._version))
                next_version = now + self._seconds / 6
            time.sleep(_POLL_SECONDS)
        self._end()
        self._look()
        return self.found

    def _bronze_is_there(self) -> bool:
        try:
            return load_table(self._lake, BRONZE, NAME) is not None
        except Exception:
            return False

    def _arrive(self) -> None:
        """Good records, hopeless ones, and some with a field that the next contract knows."""
        lines = []
        for _ in range(self._chance.randrange(1, 20)):
            self._ids += 1
            record: dict[str, object] = {"id": self._ids if self._chance.random() < 0.9 else self._ids - 1}
            if self._chance.random() < 0.1:
                record[f"f{self._version}"] = "new"
            if self._chance.random() < 0.05:
                record["id"] = "no number"
            lines.append(json.dumps(record) + "\n")
        self.found.files, self.found.records = self.found.files + 1, self.found.records + len(lines)
        aside = self._landing / f".{self.found.files}.writing"
        aside.write_text("".join(lines))
        aside.rename(self._landing / f"{self.found.files:06}.json")

    def _keep_running(self) -> None:
        for name in WORKERS:
            process = self._running.get(name)
            code = process.poll() if process is not None else -signal.SIGKILL
            if code is None:
                continue
            if code != -signal.SIGKILL:
                self.found.wrong.append(f"{name} ended by itself with {code}: {self._last_line(name)}")
            self._start(name)

    def _start(self, name: str) -> None:
        self.found.starts[name] += 1
        with (self._logs / f"{name}.log").open("ab") as log:
            words = [sys.executable, str(_WORKER), name, str(self._lake.root)]
            self._running[name] = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)

    def _kill(self, name: str) -> None:
        """Only the process itself: what it leaves behind, a JVM for instance, must do no harm."""
        process = self._running[name]
        if process.poll() is None:
            process.kill()
            process.wait()
            self.found.kills[name] += 1

    def _end(self) -> None:
        for name in WORKERS[1:]:
            self._stop(name)
        self._stop("stream")
        for name in ("drain", "replay-once", "silver-once", "maintain-once"):
            code = self._once(name)
            if code != 0:
                self.found.wrong.append(f"{name} ended with {code}: {self._last_line(name)}")

    def _stop(self, name: str) -> None:
        process = self._running[name]
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            self.found.wrong.append(f"{name} did not end within two minutes")
            os.killpg(process.pid, signal.SIGKILL)

    def _once(self, name: str) -> int:
        with (self._logs / f"{name}.log").open("ab") as log:
            words = [sys.executable, str(_WORKER), name, str(self._lake.root)]
            return subprocess.run(words, stdout=log, stderr=log, check=False).returncode

    def _look(self) -> None:
        wrong = self.found.wrong
        for name in WORKERS:
            text = (self._logs / f"{name}.log").read_text(errors="replace")
            self.found.rounds[name] = text.count("round done")
            wrong += [f"{name}: {line}" for line in text.splitlines() if line.startswith("WRONG")]
        account = reconcile(self._lake, NAME)
        if not account.is_balanced or account.records != self.found.records:
            wrong.append(f"{account.records} of {self.found.records} records, {account.problems[:3]}")
        bronze = load_table(self._lake, BRONZE, NAME).scan().to_arrow()
        silver = load_table(self._lake, SILVER, NAME).scan().to_arrow()
        if sorted(silver["id"].to_pylist()) != sorted(set(bronze["id"].to_pylist())):
            wrong.append(f"silver has {silver.num_rows} rows, bronze {len(set(bronze['id'].to_pylist()))} keys")
        if load_table(self._lake, DEAD_LETTERS, NAME).scan().to_arrow().num_rows == 0:
            wrong.append("there was no dead letter")
        subjects = subjects_of(self._lake)
        for report in plan(self._lake, subjects, Wishes(frozenset({Step.COMPACT}))):
            if report.outcome != "nothing" and not report.table.startswith("ops."):
                wrong.append(f"{report.table} still needs {report.steps}")
        for subject in subjects:  # every file of every current snapshot
            subject.open(self._lake).scan().to_arrow()
        wrong += [f"{table} is set aside: {why}" for table, why in set_aside(history(self._lake)).items()]

    def _last_line(self, name: str) -> str:
        lines = (self._logs / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-3:])


def soak(folder: Path, seconds: float, seed: int, pause: tuple[float, float] = (5, 15)) -> Found:
    """Run it in a new lake."""
    lake = Lake.at(Settings(lake=folder / "lake"))
    return Soak(lake, seconds, seed, pause).run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = random.randrange(10**6) if asked.seed is None else asked.seed
    scratch = Path(tempfile.mkdtemp(prefix="smelter-soak-"))
    found = soak(scratch, asked.seconds, seed)
    print(f"seed {seed}: {found.files:,} files, {found.records:,} records")
    print(f"started {dict(found.starts)}, killed {dict(found.kills)}, rounds {dict(found.rounds)}")
    for line in found.wrong:
        print(f"WRONG: {line}")
    if found.wrong:
        print(f"the lake is kept: {scratch}")
        return 1
    shutil.rmtree(scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
