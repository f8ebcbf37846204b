"""What Spark could not do, in one sentence: a row on which an expression fails, or a machine that gave way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smelter.errors import Refused, Unreachable


class Unsure(Unreachable):
    """The JVM gave no answer: what it was asked to do may still come to its end."""


_NOT_THE_ROWS = frozenset({"FAILED_EXECUTE_UDF", "INTERNAL_ERROR", "UNSUPPORTED_FEATURE"})


@contextmanager
def spark_errors(table: str, log: Path, data: str, next_step: str) -> Iterator[None]:
    """Where Spark builds a table: what the rows or their expressions did is refused, the rest is out of reach."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as problem:
        condition = (problem.getCondition() or "") if isinstance(problem, PySparkException) else ""
        said = cause_of(problem)
        if "CommitStateUnknownException" in str(problem):
            raise _unsure(f"the catalog did not answer whether it took a commit: {said}", table, log) from problem
        if condition and condition.split(".")[0] not in _NOT_THE_ROWS:
            raise Refused(f"Spark refused: {said}", where=table, data=data, next_step=next_step) from problem
        raise Unreachable(f"Spark failed: {said}", where=str(log), data=data, next_step="smelt doctor") from problem
    except (Py4JError, ConnectionError) as problem:
        raise _unsure(f"Spark's JVM is gone: {cause_of(problem)}", table, log) from problem


def _unsure(what: str, table: str, log: Path) -> Unsure:
    return Unsure(
        what,
        where=str(log),
        data=f"{table} is as it was before, or has the whole change: a commit is never half done",
        next_step="run it again; smelt doctor says whether the machine is short of something",
    )


def cause_of(problem: Exception) -> str:
    """The first line that says what happened; Spark's own failures carry the Java exception at the end of theirs."""
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    said = next((line for line in lines if "Exception: " in line), lines[0])
    return said[max(said.rfind(" java."), said.rfind(" org."), -1) + 1 :]
