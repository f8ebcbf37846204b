"""The password of the catalog is on no command line, in no log and in no file of the lake, whatever Spark does."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psycopg2
import pytest
from datasets import Dataset, contract_of

from postgres_server import HOST, SECRET, USER, PostgresServer
from smelter.catalog_address import parse_address
from smelter.lake.home import Lake
from smelter.settings import Settings

SCRIPT = Path(__file__).with_name("secret_session.py")


def command_lines() -> list[bytes]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(place.read_bytes())
    return found


def password_file(folder: Path, postgres: PostgresServer, password: str) -> Path:
    file = folder / "pgpass"
    escaped = password.replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"{HOST}:{postgres.port}:*:{USER}:{escaped}\n", "utf-8")
    file.chmod(0o600)
    return file


@pytest.mark.jvm
def test_the_password_is_on_no_command_line_in_no_log_and_in_no_file(tmp_path: Path, postgres: PostgresServer) -> None:
    setting = postgres.database()
    lake = Lake.at(Settings(lake=tmp_path / "lake", catalog=setting))
    Dataset(lake, contract_of("a: {type: int}", name="things")).take([{"a": 1}, {"a": 2}])
    passwords = password_file(tmp_path, postgres, parse_address(setting).password or "")
    environ = {**os.environ, "SMELTER_CATALOG": setting, "PGPASSFILE": str(passwords)}
    words = [sys.executable, SCRIPT, lake.root, tmp_path / "run", "things"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(words, env=environ, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        said = ""
        while "READY" not in said and (line := process.stdout.readline()):
            said += line
        seen = command_lines()
        said += process.communicate("")[0]
    assert process.returncode == 0, said
    assert "with the password: 2\n" in said
    assert "from the password file: 2\n" in said
    assert "with a wrong one: " in said
    assert f'password authentication failed for user "{USER}"' in said
    assert any(b"spark.sql.catalog.lake.uri=jdbc:postgresql://" in line for line in seen)
    assert [line for line in seen if SECRET.encode() in line] == []
    assert SECRET not in said
    files = [path for folder in ("lake", "run") for path in (tmp_path / folder).rglob("*") if path.is_file()]
    assert tmp_path / "run" / "spark.log" in files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


def test_the_password_may_lie_in_the_password_file(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = parse_address(postgres.database())
    monkeypatch.setenv("PGPASSFILE", str(password_file(tmp_path, postgres, full.password or "")))
    lake = Lake.at(Settings(lake=tmp_path / "lake", catalog=replace(full, password=None)))
    assert not lake.has_catalog
    Dataset(lake, contract_of("a: {type: int}", name="things")).take([{"a": 1}])
    assert lake.has_catalog
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    with pytest.raises(psycopg2.OperationalError, match="no password supplied"):
        psycopg2.connect(**replace(full, password=None).libpq())
