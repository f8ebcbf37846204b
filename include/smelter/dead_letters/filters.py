"""Which letters are meant? A condition on letters and their status; what people typed is always bound."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from urllib.parse import quote

from smelter.lake.letter_status import Status
from smelter.records import Reason

# Letters that do not hold their record: it must be read from its file again.
FROM_FILES = (
    Reason.FILE_UNREADABLE,
    Reason.FILE_TOO_LARGE,
    Reason.FILE_CHANGED,
    Reason.TRUNCATED_BATCH,
    Reason.RECORD_TOO_LARGE,
)
IS_ABOUT_A_FILE = f"reason in ({', '.join(repr(str(reason)) for reason in FROM_FILES)})"


_HAS_FIELD = (
    "len(list_filter(errors, lambda e: e.field = $field or starts_with(e.field, $field || '.') "
    "or starts_with(e.field, $field || '['))) > 0"
)


@dataclass(frozen=True)
class Filters:
    """Letters of one dataset; what is not given does not matter, but only open ones unless another status is asked."""

    reason: str | None = None
    field: str | None = None
    since: datetime | None = None  # when the stream wrote the letter
    until: datetime | None = None
    source: str | None = None  # a part of the file's name
    batch: str | None = None
    contract: str | None = None  # under which it was judged last
    id: str | None = None
    status: Status | None = Status.OPEN
    not_judged_by: str | None = None  # leaves out what a contract has refused already: it would do so again

    @property
    def are_given(self) -> bool:
        """Did anybody narrow it down?"""
        return any(getattr(self, one.name) is not None for one in fields(self) if one.name != "status")

    def where(self) -> tuple[str, dict[str, Any]]:
        """The condition in DuckDB's SQL, and the values that are bound to its marks."""
        given = {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}
        if self.source is not None:
            given["quoted"] = quote(self.source, safe="/")  # as a URI has it
        conditions = {
            "reason": "reason = $reason",
            "field": _HAS_FIELD,
            "since": "_ingested_at >= $since",
            "until": "_ingested_at < $until",
            "source": "(contains(_source, $source) or contains(_source, $quoted))",
            "batch": "_batch = $batch",
            "contract": "judged_by = $contract",
            "id": "substr(_id, 1, length($id)) = $id",  # the first few digits will do
            "status": "status = $status",
            "not_judged_by": f"(judged_by <> $not_judged_by or {IS_ABOUT_A_FILE})",
        }
        chosen = [text for name, text in conditions.items() if name in given]
        values = {name: str(value) if isinstance(value, Status) else value for name, value in given.items()}
        return " and ".join(chosen) or "true", values
