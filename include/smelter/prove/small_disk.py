"""A small file system of this process's own, which is filled to its last byte; so it is run in a mount namespace."""

from __future__ import annotations

import errno
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOM = "8m"
NAMESPACES = (("unshare", "-rm"), ("unshare", "-m"))
FILLER = ".filler"


def namespace(probe: Path) -> tuple[str, ...] | None:
    """How this machine lets a process mount file systems that nobody else sees; nothing if it does not."""
    probe.mkdir(exist_ok=True)
    for wrapper in NAMESPACES:
        try:
            words = [*wrapper, "mount", "-t", "tmpfs", "tmpfs", str(probe)]
            if subprocess.run(words, capture_output=True, check=False).returncode == 0:
                return wrapper
        except FileNotFoundError:
            continue
    return None


@contextmanager
def on_a_small_disk(place: Path) -> Iterator[None]:
    """Have a folder on a small disk; when all is over there is room again, and its content is there for everybody."""
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)], check=True)  # noqa: S607
    try:
        yield
    finally:
        (place / FILLER).unlink(missing_ok=True)
        aside = place.with_name(f".{place.name}.aside")
        shutil.copytree(place, aside)
        subprocess.run(["umount", "-l", str(place)], check=True)  # noqa: S607
        shutil.copytree(aside, place, dirs_exist_ok=True)
        shutil.rmtree(aside)


def fill(place: Path) -> None:
    """Write until there is no room for another byte."""
    with (place / FILLER).open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as problem:
                if problem.errno != errno.ENOSPC:
                    raise
