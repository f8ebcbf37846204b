"""The parent of Spark's Python workers, with the heavy imports done once: a worker that it forks starts at once.

Measured: the first task of a fresh worker needs 1 s for its imports; Spark ends a worker that was idle for a minute.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # the numbers that malloc.h gives them
_MALLOC = {_TRIM_THRESHOLD: 64 * 1024 * 1024, _TOP_PAD: 4 * 1024 * 1024, _MMAP_THRESHOLD: 32 * 1024 * 1024}


def _warm_up() -> None:
    import msgspec  # noqa: F401
    import pyarrow.compute  # noqa: F401
    import pydantic  # noqa: F401
    import pyiceberg.io.pyarrow  # noqa: F401

    gc.freeze()  # what is imported will never be garbage, so no collection need look at it
    _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Windows of a megabyte come and go; giving each back to the kernel costs a twelfth of all processor time."""
    with suppress(OSError, AttributeError):  # another C library than glibc has other ways
        set_option = ctypes.CDLL(None).mallopt
        for option, size in _MALLOC.items():
            set_option(option, size)


if __name__ == "__main__":
    from pyspark import daemon

    _warm_up()
    daemon.manager()  # type: ignore[no-untyped-call]
