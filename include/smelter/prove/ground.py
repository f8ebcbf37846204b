"""The ground of a proof: a scratch lake, one warm Spark session, and the processes that are alive on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError

from smelter.errors import Unreachable
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.prove import processes
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SURVIVES = "/var/tmp"  # noqa: S108
NEEDED_BYTES = 1_000_000_000
PATIENCE_SECONDS = 120.0


class Interrupted(Exception):
    """Somebody wants the proof to end: the round that runs is left out of the account."""


@dataclass
class Ground:
    """Everything that rounds share; `over` is set when the proof must end early."""

    folder: Path
    lake: Lake
    over: threading.Event = field(default_factory=threading.Event)
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @classmethod
    def new(cls, settings: Settings) -> Ground:
        """A scratch folder that outlives a restart of the machine where it can: a failed round's lake is kept in it."""
        survives = "TMPDIR" not in os.environ and os.access(SURVIVES, os.W_OK)
        folder = Path(tempfile.mkdtemp(prefix="smelter-prove-", dir=SURVIVES if survives else None)).resolve()
        free = shutil.disk_usage(folder).free
        if free < NEEDED_BYTES:
            folder.rmdir()
            raise Unreachable(
                f"a proof needs {NEEDED_BYTES // 10**6:,} MB of disk, and there are {free // 10**6:,}",
                where=str(folder.parent),
                next_step="free some room, or name another folder: TMPDIR=DIR smelt prove",
            )
        return cls(folder, Lake.at(settings.model_copy(update={"lake": folder / "lake", "catalog": None})))

    @cached_property
    def spark(self) -> SparkSession:
        """The session for restarts and for whatever needs no kill; started when it is first needed."""
        from smelter.lake.session import start_spark

        before = os.environ.get("JDK_JAVA_OPTIONS")
        os.environ["JDK_JAVA_OPTIONS"] = before or processes.QUICK_JVM
        session = start_spark(self.lake, "smelter prove", self.folder / "spark")
        if before is None:
            del os.environ["JDK_JAVA_OPTIONS"]
        session.conf.set("spark.sql.shuffle.partitions", "2")  # the tables are tiny
        return session

    @property
    def is_alive(self) -> bool:
        """Is the JVM of the warm session there?"""
        from pyspark import SparkContext

        return SparkContext._gateway is not None and SparkContext._gateway.proc.poll() is None

    def start(self, module: str, *words: object, log: Path, wrapper: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a process that cannot outlive this one."""
        child = processes.start(module, *words, log=log, wrapper=wrapper)
        self.children.append(child)
        return child

    def kill(self, child: subprocess.Popen[bytes]) -> None:
        """kill -9, and wait until everything that it had started is gone too."""
        processes.kill(child)
        self.children.remove(child)

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something that will happen; the limit is only there so that a failure ends."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            self.go_on()
            if time.monotonic() > end:
                raise TimeoutError(f"waited in vain until {what}")
            time.sleep(0.02)

    def go_on(self) -> None:
        """End here, if somebody wants that."""
        if self.over.is_set():
            raise Interrupted

    def forget(self, dataset: str) -> None:
        """Remove a dataset that nobody needs any more, so that a night of rounds needs the room of one."""
        for namespace in (BRONZE, DEAD_LETTERS):
            with suppress(NoSuchTableError):
                self.lake.catalog.drop_table((namespace, dataset))
            shutil.rmtree(self.lake.table_location(namespace, dataset), ignore_errors=True)
        places = (self.lake.checkpoint(dataset), self.lake.receipts(dataset), self.lake.run_folder(dataset))
        for place in (*places, self.lake.root / "landing" / dataset, self.folder / dataset):
            shutil.rmtree(place, ignore_errors=True)

    def _stop_spark(self) -> None:
        """Stop the session, and wait until its JVM is gone: it would only notice later that nobody needs it."""
        from pyspark import SparkContext

        with suppress(Exception):  # a JVM that is gone cannot be stopped
            self.spark.stop()
        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        if gateway is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait()

    def leave(self, *, keep: bool) -> None:
        """End every process, and remove the folder unless it is kept."""
        for child in list(self.children):
            self.kill(child)
        if "spark" in self.__dict__:
            self._stop_spark()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
