"""Is this machine fit to run a lake? One small check per question, each with what was found and the fix.

Nothing heavy is imported and no JVM is started, except by `java -version`.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from smelter.contracts import dataset_names, load_contract
from smelter.errors import SmelterError
from smelter.lake.jar_lock import read_lock
from smelter.lake.jars import LOCK, verify_jars
from smelter.lake.java import find_java
from smelter.lake.layout import CATALOG, TABLES, refuse_other_catalog, refuse_other_layout, refuse_unless_lake
from smelter.postgres import asking, count_tables, is_of, owner_of
from smelter.settings import PROJECT, Settings

NEEDED_GIB = 2
SET_UP = "make setup"


@dataclass(frozen=True)
class Check:
    """One question about the machine and its answer; the fix is empty when all is well."""

    name: str
    ok: bool
    found: str
    fix: str = ""


def examine(settings: Settings, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Every check, one after the other; each runs whatever the others found."""
    yield check_linux()
    yield check_python()
    yield check_java(environ)
    yield check_packages(PROJECT / "requirements.txt")
    yield from check_jars(LOCK, settings.jars)
    yield check_lake(settings.lake)
    yield check_catalog(settings)
    yield check_disk(settings.lake)
    yield check_contracts(settings.contracts)
    yield check_encoding()


def check_linux() -> Check:
    """Smelter uses Linux's locks and processes."""
    return Check("system", sys.platform == "linux", sys.platform, _unless(sys.platform == "linux", "use Linux"))


def check_python() -> Check:
    """The pinned packages were proved on one Python."""
    ok = sys.version_info[:2] == (3, 11)
    found = ".".join(str(part) for part in sys.version_info[:3])
    return Check("Python", ok, found, _unless(ok, f"install python3.11, then {SET_UP}"))


def check_java(environ: Mapping[str, str]) -> Check:
    """Spark runs on the Java of JAVA_HOME or PATH."""
    try:
        java = find_java(environ)
    except SmelterError as problem:
        return Check("Java", False, problem.what, problem.next_step)
    return Check("Java", True, f"{java.version} ({java.path})")


def check_packages(requirements: Path) -> Check:
    """Every package has the version of the lock."""
    try:
        pins = re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", requirements.read_text("utf-8"), re.MULTILINE)
    except OSError as problem:
        return Check("packages", False, f"{requirements}: {problem.strerror}", "git restore requirements.txt")
    wrong = [f"{name} {found or 'missing'}, not {pin}" for name, pin in pins if (found := _installed(name)) != pin]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return Check("packages", False, "; ".join(wrong[:3]) + more, f"rm -r .venv, then {SET_UP}")
    return Check("packages", True, f"{len(pins)} as locked")


def check_jars(lock: Path, folder: Path) -> list[Check]:
    """Every jar has the hash of the lock; they are hashed each time."""
    try:
        jars = read_lock(lock)
        problems = {problem.jar: problem for problem in verify_jars(lock, folder)}
    except SmelterError as problem:
        return [Check("jars", False, problem.what, problem.next_step)]
    except OSError as problem:
        return [Check("jars", False, f"{problem.filename}: {problem.strerror}", SET_UP)]
    return [
        Check(f"jar {jar.artifact}", False, str(problems[jar]), SET_UP)
        if jar in problems
        else Check(f"jar {jar.artifact}", True, f"{jar.version}, sha256 {jar.sha256[:12]}…")
        for jar in jars
    ]


def check_lake(lake: Path) -> Check:
    """The lake is one of this layout, or can be made, and can be written."""
    try:
        refuse_unless_lake(lake)
        refuse_other_layout(lake)
    except SmelterError as problem:
        return Check("lake", False, problem.what, problem.next_step)
    place = _nearest_folder(lake)
    ok = os.access(place, os.W_OK | os.X_OK)
    fix = _unless(ok, f"make {place} writable for you, or name another lake with --lake DIR")
    if not ok:
        return Check("lake", False, f"{place} cannot be written", fix)
    return Check("lake", True, str(lake) if place == lake else f"{lake} (will be made when it is needed)")


def check_catalog(settings: Settings) -> Check:
    """The catalog answers and is this lake's, or can be made."""
    lake, address = settings.lake, settings.catalog
    try:
        refuse_other_catalog(lake, address)
        if address is None:
            return _check_file(lake / CATALOG)
        with asking(address) as line:
            begun = is_of(owner_of(line), lake.resolve() / TABLES, address)
            version = str(line.info.parameter_status("server_version")).split()[0]
            tables = f"{count_tables(line)} tables" if begun else "its tables will be made when they are needed"
    except SmelterError as problem:
        return Check("catalog", False, problem.what, problem.next_step)
    return Check("catalog", True, f"{address}, PostgreSQL {version}, {tables}")


def _check_file(file: Path) -> Check:
    """The file opens as a database; nothing is made or changed."""
    if not file.exists():
        return Check("catalog", True, f"{file} (will be made when it is needed)")
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            found = database.execute("select count(*) from sqlite_master where name = 'iceberg_tables'").fetchone()
    except sqlite3.Error as problem:
        return Check("catalog", False, f"{file}: {problem}", "bring the file back from a backup, or smelt lake drop")
    return Check("catalog", True, str(file) if found[0] else f"{file} (empty)")


def check_disk(lake: Path) -> Check:
    """There is room for some work."""
    place = _nearest_folder(lake)
    free = shutil.disk_usage(place).free / 2**30
    ok = free >= NEEDED_GIB
    return Check(
        "disk", ok, f"{free:.1f} GiB free in {place}", _unless(ok, f"free some room: {NEEDED_GIB} GiB at least")
    )


def check_contracts(folder: Path) -> Check:
    """Every contract can be read."""
    if not folder.is_dir():
        return Check("contracts", False, f"there is no folder {folder}", "name another with SMELTER_CONTRACTS")
    names = dataset_names(folder)
    for name in names:
        try:
            load_contract(folder / f"{name}.yaml")
        except SmelterError as problem:
            return Check("contracts", False, problem.what.splitlines()[0], problem.next_step)
    fix = _unless(bool(names), "smelt contract new DATASET --from SAMPLE")
    return Check("contracts", bool(names), ", ".join(names) or f"{folder} has none", fix)


def check_encoding() -> Check:
    """File names and output are UTF-8."""
    found = {"file names": sys.getfilesystemencoding(), "output": sys.stdout.encoding or "utf-8"}
    ok = all(encoding.lower().replace("-", "") == "utf8" for encoding in found.values())
    shown = ", ".join(f"{what} {encoding.lower()}" for what, encoding in found.items())
    return Check("encoding", ok, shown, _unless(ok, "export LC_ALL=C.UTF-8, and unset PYTHONIOENCODING and PYTHONUTF8"))


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _nearest_folder(path: Path) -> Path:
    """The path itself, or the nearest one above it that exists."""
    return next(place for place in (path, *path.parents) if place.exists())


def _unless(ok: bool, fix: str) -> str:
    return "" if ok else fix
