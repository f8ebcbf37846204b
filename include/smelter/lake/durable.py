"""Small files that are whole or not there, also after a power cut."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def put_if_absent(path: Path, content: bytes) -> bool:
    """Written aside, made durable, then linked under its name; False if there is one of this name already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{uuid.uuid4().hex}.writing")
    try:
        _write(aside, content)
        os.link(aside, path)
    except FileExistsError:
        return False
    finally:
        aside.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def replace(path: Path, content: bytes) -> None:
    """Written aside, made durable, then moved over what was there. For one process at a time."""
    aside = path.with_name(f".{path.name}.new")
    _write(aside, content)
    aside.replace(path)
    _sync_folder(path.parent)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
