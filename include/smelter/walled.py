"""Run a program that may read everything and write next to nothing: `python -m smelter.walled PLACE… -- PROGRAM…`.

The kernel keeps the wall (Landlock, Linux 5.13 and later), for the program and all that it starts. A kernel without it
runs the program as it is; whoever needs to know asks `is_possible`.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every processor
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
# Write to files, remove files and folders, make anything, move between folders.
_ANY_CHANGE = _WRITE_FILE | sum(1 << bit for bit in range(4, 14))
_OF_A_FILE = _WRITE_FILE | _TRUNCATE
_TRUNCATE_SINCE, _REFER_SINCE, _REFER = 3, 2, 1 << 13


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled_access_fs", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def is_possible() -> bool:
    """Can this kernel keep the wall?"""
    return _version() > 0


def build(places: Sequence[Path]) -> None:
    """From here on this process writes into these files and folders only; it cannot be taken back."""
    version = _version()
    if version <= 0:
        return
    handled = _ANY_CHANGE if version >= _REFER_SINCE else _ANY_CHANGE & ~_REFER
    handled |= _TRUNCATE if version >= _TRUNCATE_SINCE else 0
    attributes = _Ruleset(handled)
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    for place in places:
        _allow(ruleset, place, handled)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, place: Path, handled: int) -> None:
    """A file or folder that is not there is not allowed to come."""
    try:
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    is_folder = stat.S_ISDIR(os.fstat(opened).st_mode)
    rule = _Beneath(handled if is_folder else handled & _OF_A_FILE, opened)
    _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(opened)


def _version() -> int:
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(ctypes.c_long(number), *arguments)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)


if __name__ == "__main__":
    end = sys.argv.index("--")
    build([Path(place) for place in sys.argv[1:end]])
    os.execv(sys.argv[end + 1], sys.argv[end + 1 :])  # noqa: S606 (a list of our own words)
