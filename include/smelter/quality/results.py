"""Great Expectations' results as files, the newest of each dataset; the report is made from them."""

from __future__ import annotations

import html
import json
import os
import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from smelter.lake.home import Lake
from smelter.quality.verdict import Decision, Question, Result, Verdict

RESULTS = "results"
KEPT = 200
_SHOWN_EXAMPLES = 5
_MOMENT = "%Y%m%dT%H%M%S.%fZ"  # as Great Expectations writes times in the names of folders
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Kept:
    """One result: its file, and the words by which Great Expectations knows it."""

    file: Path

    @property
    def dataset(self) -> str:
        """The dataset, which is the name of the suite."""
        return self.file.parent.parent.parent.name

    @property
    def run(self) -> str:
        """The run that judged."""
        return self.file.parent.parent.name

    @property
    def at(self) -> datetime:
        """When it judged."""
        return datetime.strptime(self.file.parent.name, _MOMENT).replace(tzinfo=UTC)

    @property
    def what(self) -> str:
        """What was judged."""
        return self.file.stem

    def page(self, site: Path) -> Path:
        """Where its page is in the report."""
        return site / "validations" / self.dataset / self.run / self.file.parent.name / f"{self.what}.html"


def keep_result(lake: Lake, question: Question, verdict: Verdict, decision: Decision, reason: str | None) -> None:
    """Write a result down, whole or not at all, and let go of the oldest beyond those that are kept."""
    told = _with_findings(verdict, decision, reason)
    folder = lake.quality / RESULTS / question.dataset / _ODD.sub("-", question.run) / f"{verdict.at:{_MOMENT}}"
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / f"{question.scope}.json", json.dumps(told, ensure_ascii=False))
    for old in kept_results(lake, question.dataset)[:-KEPT]:
        old.file.unlink(missing_ok=True)
        for empty in (old.file.parent, old.file.parent.parent):
            if not any(empty.iterdir()):
                empty.rmdir()


def kept_results(lake: Lake, dataset: str = "*") -> list[Kept]:
    """The results of one dataset or of all, oldest first."""
    found = [Kept(file) for file in (lake.quality / RESULTS).glob(f"{dataset}/*/*/*.json")]
    return sorted(found, key=lambda kept: (kept.at, str(kept.file)))


def _with_findings(verdict: Verdict, decision: Decision, reason: str | None) -> dict[str, object]:
    """The result with what a person wants to read for each expectation: what was found, where, and what came of it."""
    told: dict[str, object] = json.loads(verdict.validation)
    by_name = {result.name: result for result in verdict.results}
    fate = f"{decision.value}: {reason}" if reason else decision.value
    for one in told["results"]:  # type: ignore[attr-defined]
        result = by_name[one["expectation_config"]["kwargs"]["column"]]
        one["expectation_config"]["description"] = _harmless(result.wanted if result.ok else _failure(result, fate))
    return told


def _failure(result: Result, fate: str) -> str:
    rows = [f"{one.source}:{one.position} has {one.found}" for one in result.examples[:_SHOWN_EXAMPLES]]
    such_as = f"; such as {'; '.join(rows)}" if rows else ""
    return f"{result.sentence}{such_as} ({result.on_failure}: {fate})"


def _harmless(text: str) -> str:
    """Great Expectations puts a text into its page as it is, and takes `$` for a place to fill in."""
    return html.escape(text).replace("$", "&#36;")


def _write(file: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=".", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as unfinished:
            unfinished.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(file)
    finally:
        Path(name).unlink(missing_ok=True)
