"""The truth file: for every record that was written, where it is and what must become of it."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import msgspec

from smelter.producer.plan import Reason
from smelter.producer.sabotage import Made


class TruthFile:
    """Lines of NDJSON under a hidden name, which appear at the end as a whole; dropped if the run fails."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._hidden = path.with_name(f".{path.name}.{os.getpid()}.part") if path is not None else None
        self._lines: IO[bytes] | None = None

    def __enter__(self) -> TruthFile:
        if self._hidden is not None:
            self._hidden.parent.mkdir(parents=True, exist_ok=True)
            self._lines = self._hidden.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lines is None or self._hidden is None or self._path is None:
            return
        self._lines.close()
        if kind is None:
            self._hidden.replace(self._path)
        else:
            self._hidden.unlink(missing_ok=True)

    def add(self, source: str, made: tuple[Made, ...], first_position: int = 0) -> None:
        """Say what must become of the records of one source, or that it is empty."""
        if self._lines is None:
            return
        lines = [_line(source, first_position + number, one) for number, one in enumerate(made)]
        if not made:
            lines = [_said(source, None, "empty", fault="empty_file")]
        self._lines.write(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def _line(source: str, position: int, made: Made) -> dict[str, Any]:
    is_letter_only = made.reason is Reason.TRUNCATED_BATCH
    return _said(
        source,
        position,
        "good" if made.reason is None else "dead",
        reason=made.reason,
        field=made.field,
        fault=made.fault,
        record=None if is_letter_only else made.text,
    )


def _said(
    source: str,
    position: int | None,
    verdict: str,
    *,
    reason: str | None = None,
    field: str | None = None,
    fault: str | None = None,
    record: str | None = None,
) -> dict[str, Any]:
    return {
        "source": source,
        "position": position,
        "verdict": verdict,
        "reason": reason,
        "field": field,
        "fault": fault,
        "record": record,
    }
