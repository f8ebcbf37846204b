"""A driver's log: one fact with numbers per line, in a file that is turned over before it grows too large."""

from __future__ import annotations

import logging
import logging.handlers
import time
from pathlib import Path
from typing import Any

LOG = "driver.log"
MOST_BYTES = 10 * 1024 * 1024
KEPT = 5


class _QuietHandler(logging.handlers.RotatingFileHandler):
    """A line that cannot be written is lost; the driver has better things to do than to say so."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        del record


class DriverLog:
    """Writes `2026-11-16T14:00:00Z batch_committed batch=41 records=5000` lines; a full disk never stops the driver."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._handler = _QuietHandler(
            folder / LOG, maxBytes=most_bytes, backupCount=KEPT, encoding="utf-8", errors="backslashreplace"
        )

    def say(self, fact: str, **numbers: Any) -> None:
        """Add one line."""
        words = " ".join(f"{name}={_quoted(value)}" for name, value in numbers.items())
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {fact} {words}".rstrip()
        self._handler.handle(logging.LogRecord("driver", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Let go of the file."""
        self._handler.close()


def _quoted(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    is_plain = text and not any(character.isspace() or character in '"=' for character in text)
    return text if is_plain and text.isprintable() else repr(text)
