"""How large things may get: the four limits of docs/settings.md that decide where records end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CountLimits:
    """The limits under which a file was judged, so that it is counted under the same."""

    max_record_bytes: int = 16 * 1024 * 1024
    max_depth: int = 100
    max_file_bytes: int = 16 * 1024 * 1024 * 1024
    max_expansion: int = 200
