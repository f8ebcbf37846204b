"""What a library finds wrong with one table's files, in one sentence, so that no other table pays for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyiceberg.exceptions

from smelter.errors import Unreachable

_QUOTED = re.compile(r"'([^']+)'")
_THEIRS = tuple(
    one for one in vars(pyiceberg.exceptions).values() if isinstance(one, type) and issubclass(one, Exception)
)


@contextmanager
def faults_of(name: str, next_step: str) -> Iterator[None]:
    """Files that are gone, cut, unreadable or in the way: Python's, Arrow's and PyIceberg's own words for it."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException, *_THEIRS) as problem:
        said = (str(problem).splitlines() or [""])[0] or type(problem).__name__
        raise Unreachable(
            f"{name} cannot be looked after: {_what(problem, said)}",
            where=_where(problem, said),
            data="what was committed before stays committed",
            next_step=next_step,
        ) from problem


def _what(problem: BaseException, said: str) -> str:
    if isinstance(problem, FileNotFoundError):
        return "a file that it needs is gone"
    return (problem.strerror if isinstance(problem, OSError) else None) or said


def _where(problem: BaseException, said: str) -> str:
    """Arrow names the file in its words only."""
    named = problem.filename if isinstance(problem, OSError) else None
    quoted = _QUOTED.search(said) if isinstance(problem, OSError) else None
    return str(named or (quoted[1] if quoted else ""))
