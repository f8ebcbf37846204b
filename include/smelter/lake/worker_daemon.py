"""The parent of Spark's Python workers, with the heavy imports done once: a worker that it forks starts at once.

Measured: the first task of a fresh worker needs 1 s for its imports; Spark ends a worker that was idle for a minute.
"""

from __future__ import annotations

import gc


def _warm_up() -> None:
    import msgspec  # noqa: F401
    import pyarrow.compute  # noqa: F401
    import pydantic  # noqa: F401
    import pyiceberg.io.pyarrow  # noqa: F401

    gc.freeze()  # what is imported will never be garbage, so no collection need look at it


if __name__ == "__main__":
    from pyspark import daemon

    _warm_up()
    daemon.manager()  # type: ignore[no-untyped-call]
