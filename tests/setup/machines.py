"""A scratch copy of the project, and strangers that set-up may meet on a machine: Java, uv, Ivy."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SYSTEM_PYTHON = Path(sys.base_prefix) / "bin" / "python3.11"


def write_program(path: Path, text: str) -> Path:
    """A small program for the shell, in place of a real one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def a_wheel(folder: Path, name: str, version: str, needs: str = "", extra: str = "") -> str:
    """An empty package in a folder, and its line in a lock."""
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    about += f"Requires-Dist: {needs}\n" * bool(needs) + f"Provides-Extra: {extra}\n" * bool(extra)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}-{version}.dist-info/METADATA", about)
        wheel.writestr(
            f"{name}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{name}-{version}.dist-info/RECORD", "")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


@dataclass(frozen=True)
class Machine:
    """A machine with a copy of the project and only the programs that a test puts on its PATH."""

    project: Path
    bin: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def venv(self) -> Path:
        return self.project / ".venv"

    def has_java(self, version: str) -> None:
        write_program(self.bin / "java", f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")

    def has_uv(self, text: str) -> None:
        write_program(self.bin / "uv", text)

    def has_working_uv(self, before: str = "") -> None:
        """A uv that lends the new environment the packages of the one that runs the tests, without a network."""
        packages = sysconfig.get_path("purelib")
        link = f"import sys; sys.path.insert(0, {packages!r})"
        site = "$SCRATCH/.venv/lib/python3.11/site-packages"
        self.has_uv(f'{before}\necho called >> "$SCRATCH/uv.calls"\necho "{link}" > "{site}/lent.pth"')

    def words(self) -> tuple[list[str], dict[str, str]]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SMELTER_", "JAVA_"))}
        environ = clean | {"PATH": f"{self.bin}:/usr/bin:/bin", "SCRATCH": str(self.project)} | self.environ
        return [str(SYSTEM_PYTHON), str(self.project / "include" / "install.py")], environ

    def set_up(self) -> subprocess.CompletedProcess[str]:
        words, environ = self.words()
        return subprocess.run(words, env=environ, capture_output=True, text=True, timeout=120, check=False)

    def start_set_up(self) -> subprocess.Popen[str]:
        words, environ = self.words()
        return subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
