"""Which files are whole? A name says so, because nothing else about a file that is still being written does."""

from __future__ import annotations

_UNFINISHED_BEGINNINGS = (".", "_")
_UNFINISHED_ENDINGS = (".tmp", ".part", "._COPYING_")  # the last is what Hadoop's tools write, and Spark hides


def is_finished(name: str) -> bool:
    """Is this the name of a whole file, and not of one that somebody is still writing?"""
    return not name.startswith(_UNFINISHED_BEGINNINGS) and not name.endswith(_UNFINISHED_ENDINGS)
