"""A real PostgreSQL for tests: its own data folder, a port on the loopback, gone with the process that started it."""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg2
import pytest
from psycopg2 import sql

HOST = "127.0.0.1"
USER = "smelter"
SECRET = "sesame"  # what no file, message or command line may hold, however it is quoted there
PASSWORD = f"{SECRET} /w:rd@%é${{x}}'\"\\;"  # and every sign that some way to the database could stumble over
_ADMIN, _ADMIN_PASSWORD = "admin", "admin"
_NEEDED = "these tests start a PostgreSQL of their own: install it (Debian: apt-get install postgresql)"
_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "autovacuum": "off",
}
_names = (f"lake {number}" for number in itertools.count(1))


class PostgresServer:
    """One cluster; each test has a database of its own in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        with closing(socket.create_server((HOST, 0))) as free:
            self.port: int = free.getsockname()[1]
        password = folder / "password"
        password.write_text(_ADMIN_PASSWORD)
        if os.geteuid() == 0:
            for path in (folder, password):
                shutil.chown(path, "postgres")
        words = ["-D", self._data, "-U", _ADMIN, "-A", "scram-sha-256", f"--pwfile={password}"]
        initdb = self._run("initdb", *words, "-E", "UTF8", "--locale=C", "--no-sync")
        assert initdb.wait() == 0, (folder / "log").read_text()

    def start(self) -> None:
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        self._process = self._run("postgres", "-D", self._data, "-p", str(self.port), *settings)
        end = time.monotonic() + 30
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < end, (self._folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # at once, as if it was killed: an orderly end takes seconds
            self._process.wait(timeout=30)
            self._process = None

    @property
    def answers(self) -> bool:
        return self._process is not None

    def database(self, name: str | None = None, *, user: str = USER, password: str = PASSWORD) -> str:
        """The address of a new database, with its password."""
        name = name or next(_names)
        owner = sql.Identifier(user)
        if not self.ask("select 1 from pg_roles where rolname = %s", user):
            self.do(sql.SQL("create role {} login").format(owner))
        self.do(sql.SQL("alter role {} password {}").format(owner, sql.Literal(password)))
        self.do(sql.SQL("create database {} owner {}").format(sql.Identifier(name), owner))
        return address(user, password, self.port, name)

    def do(self, words: str | sql.Composable, *values: Any, database: str = "postgres") -> None:
        """Something that the administrator does."""
        with self._line(database) as line, line.cursor() as cursor:
            cursor.execute(words, values or None)

    def ask(self, words: str, *values: Any, database: str = "postgres") -> list[tuple[Any, ...]]:
        with self._line(database) as line, line.cursor() as cursor:
            cursor.execute(words, values or None)
            return list(cursor.fetchall())

    def cut_lines(self) -> int:
        """End every session but the administrator's; says how many there were."""
        words = "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend'"
        return len(self.ask(f"{words} and pid <> pg_backend_pid()"))

    @contextmanager
    def holding(self, table: str, database: str) -> Iterator[None]:
        """Somebody has a table to himself."""
        with self._line(database) as line, line.cursor() as cursor:
            line.autocommit = False
            cursor.execute(sql.SQL("lock table {} in access exclusive mode").format(sql.Identifier(table)))
            yield
            line.rollback()

    @contextmanager
    def changing_rows(self, database: str) -> Iterator[None]:
        """Somebody has an open transaction that has touched every table of the catalog, and changed none."""
        with self._line(database) as line, line.cursor() as cursor:
            line.autocommit = False
            cursor.execute("update iceberg_tables set table_name = table_name")
            yield
            line.commit()

    @contextmanager
    def _line(self, database: str) -> Iterator[Any]:
        line = psycopg2.connect(
            host=HOST, port=self.port, user=_ADMIN, password=_ADMIN_PASSWORD, dbname=database, connect_timeout=5
        )
        line.autocommit = True
        with closing(line):
            yield line

    def _answers(self) -> bool:
        try:
            return bool(self.ask("select 1"))
        except psycopg2.OperationalError:
            return False

    def _run(self, program: str, *words: object) -> subprocess.Popen[bytes]:
        """PostgreSQL refuses to run as root, so root runs it as Debian's user `postgres`."""
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [_programs() / program, *map(str, words)],
                cwd=self._folder,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,
                **user,  # type: ignore[call-overload]
            )


def address(user: str, password: str, port: int, database: str) -> str:
    return f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@{HOST}:{port}/{quote(database, safe='')}"


def _end_with_parent() -> None:
    """A test run that is killed must not leave a server behind (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def _programs() -> Path:
    """Debian's folder of the newest version, or wherever `initdb` is; installed if that is possible."""
    if not (found := _found()) and os.geteuid() == 0 and shutil.which("apt-get"):
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "--yes", "--no-install-recommends", "postgresql"]):
            subprocess.run(["apt-get", "--quiet", *words], env=environ, check=False, stdout=subprocess.DEVNULL)
        found = _found()
    if not found:
        pytest.fail(_NEEDED, pytrace=False)
    return found[-1]


def _found() -> list[Path]:
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    places = sorted(debian, key=lambda path: int(path.parents[1].name))
    on_path = shutil.which("initdb")
    return [path.parent for path in places] or ([Path(on_path).resolve().parent] if on_path else [])


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[PostgresServer]:
    """The server of this run."""
    with tempfile.TemporaryDirectory(prefix="smelter-postgres-", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(Path(folder))
        server.start()
        yield server
        server.stop()


@pytest.fixture
def postgres(running_postgres: PostgresServer) -> Iterator[PostgresServer]:
    """The server, which runs again after a test that stopped it."""
    yield running_postgres
    if not running_postgres.answers:
        running_postgres.start()
