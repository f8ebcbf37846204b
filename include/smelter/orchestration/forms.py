"""Forms that people fill in, and the words that become of them. Every answer is one word of a command at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from smelter.orchestration.datasets import Dataset

_MOMENT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}([.]\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?$"


def window_params() -> dict[str, Param]:
    """Two moments, each of which may be left open; anything but a moment is refused by the form itself."""
    about = "Files that arrived {} this moment; empty is all of them."
    return {
        "since": _moment("Since", about.format("at or after")),
        "until": _moment("Until", about.format("before")),
    }


def recover_words(dataset: Dataset, form: Mapping[str, Any]) -> list[str]:
    """`smelt ingest --recover` for the form's window."""
    words = ["ingest", dataset.name, "--recover"]
    words += [f"--{name}={form[name]}" for name in ("since", "until") if form[name]]
    return [*words, "--dry-run" if form["dry_run"] else "--interrupt"]


def _moment(title: str, description: str) -> Param:
    """The format makes the form show a calendar; only the pattern is checked by Airflow 3.3.2."""
    text = ["null", "string"]
    return Param(None, title=title, description=description, type=text, format="date-time", pattern=_MOMENT)
