"""When silver and gold are built, by which words, and what the log says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Asset, AssetOrTimeSchedule, CronTriggerTimetable
from airflow.sdk.exceptions import AirflowSkipException

from smelter.orchestration.datasets import Dataset
from smelter.settings import load_settings

_WAIT = ("--wait", "600")  # for whoever else changes the table; a wait is cheaper than a failed run


def every_minutes(asset: Asset) -> AssetOrTimeSchedule:
    """When new data is there, and at least every few minutes."""
    minutes = load_settings().values.build_minutes
    return AssetOrTimeSchedule(timetable=CronTriggerTimetable(f"*/{minutes} * * * *", timezone="UTC"), assets=asset)


def silver_words(dataset: Dataset) -> list[str]:
    """The command that brings silver up to date."""
    return ["silver", dataset.name, "--if-there", *_WAIT]


def gold_words(dataset: Dataset) -> list[str]:
    """The command that brings gold up to date."""
    return ["gold", dataset.name, "--if-there", *_WAIT]


def unless_dry_run(words: Sequence[str], form: Mapping[str, Any]) -> list[str]:
    """The words, with what the form says of a rebuild; a dry run skips the task."""
    if form["dry_run"]:
        raise AirflowSkipException("a dry run: nothing is built")
    return [*words, *(["--rebuild"] if form["rebuild"] else [])]


def tell_of_silver(report: Mapping[str, Any]) -> str:
    """What silver did, and every check with its outcome."""
    if "nothing" in report:
        return str(report["nothing"])
    lines = [f"silver.{report['dataset']}: {report['added']:,} new of {report['read']:,} rows; {report['rows']:,} rows"]
    for one in report["slices"]:
        for check in one["checks"]:
            mark = "✓" if check["ok"] else f"✗ {check['on_failure']}:"
            lines.append(f"  {mark} {check['sentence']}")
    if report["published_anyway"]:
        lines.append(f"  published in spite of the checks: {report['published_anyway']}")
    return "\n".join(lines)


def tell_of_gold(report: Mapping[str, Any]) -> str:
    """What became of each gold table, those that failed first."""
    if "nothing" in report:
        return str(report["nothing"])
    failed = [f"{one['table']}: failed: {one['what']}" for one in report["failed"]]
    built = [
        f"{one['table']}: {one['step']}, {one['rows_written']:,} rows written, {one['rows_removed']:,} removed"
        for one in report["tables"]
    ]
    return "\n".join([*failed, *built])
