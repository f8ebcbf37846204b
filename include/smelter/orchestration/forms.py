"""Forms that people fill in, and the words that become of them. Every answer is one word of a command at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Param

from smelter.orchestration.datasets import Dataset

# The words on dead letters: `smelter.records.Reason` in its order, which a test compares, for importing it is heavy.
REASONS = (
    "file_unreadable",
    "file_too_large",
    "file_changed",
    "truncated_batch",
    "record_too_large",
    "bad_encoding",
    "not_json",
    "not_an_object",
    "duplicate_field",
    "missing_field",
    "unknown_field",
    "wrong_type",
    "rule_broken",
)
# What maintenance does, in its order; a test compares them with the command's own.
TABLE_STEPS = ("rows", "compact", "expire", "manifests", "orphans")
LAKE_STEP = "records"  # of batches, runs and drivers: it belongs to no table
MOST_BECAUSE = 200
MOST_WHERE = 1_000
_MOST_TABLES = 1_000
_END = r"(?![\s\S])"  # Python's `$` lets a line break follow, and a browser's does not know \Z
_MOMENT = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?"
_FIELD = r"^(?!-)[A-Za-z0-9_.\[\]-]{1,200}" + _END
_TABLE = "[a-z0-9_]{1,128}[.][a-z0-9_]{1,128}"
_RUN = r"^(replay|edit|discard):[0-9]{8}-[0-9]{6}-[0-9a-f]{4}" + _END
# Everything but control characters and those that are not seen: line breaks, directions, joiners, byte order marks.
_SEEN = r"[^\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*" + _END
_OPTIONAL = ["null", "string"]


def window_params(what: str = "Files that arrived") -> dict[str, Param]:
    """Two moments, each of which may be left open; anything but a moment is refused by the form itself."""
    return {
        "since": _moment("Since", f"{what} at or after this moment; empty is all of them."),
        "until": _moment("Until", f"{what} before this moment; empty is all of them."),
    }


def dry_run_param(description: str) -> dict[str, Param]:
    """Only say what would happen."""
    return {"dry_run": Param(False, type="boolean", title="Dry run", description=description)}


def replay_params(known: Sequence[Dataset]) -> dict[str, Param]:
    """Which letters are meant; the dataset has no default, so that nobody replays another one's by oversight."""
    names, about_field = [dataset.name for dataset in known], "Letters with something wrong at this field, or below it."
    return {
        "dataset": Param(title="Dataset", description="Whose letters.", type="string", enum=names),
        "reason": Param(
            None,
            title="Reason",
            description="Letters with this word.",
            type=_OPTIONAL,
            enum=[None, *REASONS],
            values_display={"null": "any"},
        ),
        "field": Param(None, title="Field", description=about_field, type=_OPTIONAL, pattern=_FIELD),
        **window_params("Letters that were written"),
        **dry_run_param("Only say what would pass, and ask nobody."),
    }


def undo_params() -> dict[str, Param]:
    """Which run is to be taken back, and why; the reason is kept as it is typed, and read by nothing."""
    about_run = "As its task told it, or smelt dlq runs lists it: replay:20260101-120000-0a1b."
    return {
        "run": Param(title="Run", description=about_run, type="string", pattern=_RUN),
        "because": _because("it is kept in the history of the letters."),
        **dry_run_param("Only say what would be taken back, and ask nobody."),
    }


def maintenance_params() -> dict[str, Param]:
    """Which tables and which steps; nothing chosen is all of them. The form gives one line of text for each table."""
    names = {"type": "string", "pattern": f"^({_TABLE})?{_END}"}
    steps = [*TABLE_STEPS, LAKE_STEP]
    return {
        "tables": _several("Tables", "One name a line, such as bronze.events; empty is all.", names, _MOST_TABLES),
        "steps": _several("Steps", "Empty is all.", {"type": "string", "enum": steps}, len(steps), examples=steps),
        **dry_run_param("Only say what would be done, and why."),
    }


def rollback_params() -> dict[str, Param]:
    """Which table, and back to what; neither has a default."""
    about_to = "A snapshot's id, or a moment such as 2026-01-01T12:00Z: smelt maintain snapshots TABLE lists them."
    about_again = "Bronze and dead letters only, with the stream stopped: what leaves is taken in again."
    pattern = f"^([0-9]{{1,19}}|{_MOMENT}){_END}"
    return {
        "table": Param(title="Table", description="Such as silver.events.", type="string", pattern=f"^{_TABLE}{_END}"),
        "to": Param(title="Back to", description=about_to, type="string", pattern=pattern),
        "and_reingest": Param(False, title="And ingest again", description=about_again, type="boolean"),
        **dry_run_param("Only say what would leave, and ask nobody."),
    }


def forget_params(known: Sequence[Dataset]) -> dict[str, Param]:
    """Who is to be forgotten; the condition goes to the command as it is typed, and is read by nothing before it."""
    names = [dataset.name for dataset in known]
    about_where = "Fields of the contract compared with values: user_id = 'u17'."
    return {
        "dataset": Param(title="Dataset", description="Whose rows.", type="string", enum=names),
        "where": Param(
            title="Where", description=about_where, type="string", maxLength=MOST_WHERE, pattern=r"^(?=.*\S)" + _SEEN
        ),
        "because": _because("it is kept with what was forgotten, so name nobody in it."),
        **dry_run_param("Only say what would leave and what would still be there, and ask nobody."),
    }


def recover_words(dataset: Dataset, form: Mapping[str, Any]) -> list[str]:
    """`smelt ingest --recover` for the form's window."""
    words = ["ingest", dataset.name, "--recover"]
    words += [f"--{name}={form[name]}" for name in ("since", "until") if form[name]]
    return [*words, "--dry-run" if form["dry_run"] else "--interrupt"]


def _moment(title: str, description: str) -> Param:
    """The format makes the form show a calendar; only the pattern is checked by Airflow 3.3.2."""
    pattern = f"^{_MOMENT}{_END}"
    return Param(None, title=title, description=description, type=_OPTIONAL, format="date-time", pattern=pattern)


def _because(kept: str) -> Param:
    """Why, in a person's own words, which nothing reads."""
    about = f"Why, in one line; {kept}"
    return Param(None, title="Because", description=about, type=_OPTIONAL, maxLength=MOST_BECAUSE, pattern=f"^{_SEEN}")


def _several(title: str, description: str, items: Mapping[str, Any], most: int, **more: Any) -> Param:
    """A list, which Airflow's form sends as null where nothing is chosen; with `examples` it shows a choice."""
    kinds = ["null", "array"]
    return Param(None, title=title, description=description, type=kinds, items=dict(items), maxItems=most, **more)
