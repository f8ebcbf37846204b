"""What was found is kept: in `ops.quality`, in a report, and as a trend. None of it needs a JVM."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asking import NOW, QUESTION, check_of, verdict_of

from smelter.cli.main import run
from smelter.contracts import parse_contract
from smelter.errors import Refused
from smelter.lake.home import OPS, QUALITY, Lake
from smelter.lake.tables import ensure_tables, load_table
from smelter.quality import results
from smelter.quality.measure import Measure
from smelter.quality.records import past_results, record
from smelter.quality.report import build_report, newest_pages
from smelter.quality.trends import trends_of
from smelter.quality.verdict import Decision, Example

CHECKS = [
    check_of("row_count", name="enough", min=1),
    check_of("between", name="small", column="n", max=5, on_failure="warn"),
    check_of("freshness", name="fresh", column="at", max_age="1h"),
]


def judged(
    lake: Lake, hour: int, *, failing: int = 0, age: float = 60, decision: str = "published", **asked: Any
) -> None:
    """One run an hour."""
    question = replace(QUESTION, run=f"run-{hour:03}", at=NOW + timedelta(hours=hour), **asked)
    verdict = verdict_of(CHECKS, [Measure(100), Measure(failing, failing), Measure(age)], question)
    record(lake, question, verdict, Decision(decision), "told" if decision == "overridden" else None)


def test_every_check_of_a_run_is_a_row_with_all_that_was_found(lake: Lake) -> None:
    verdict = verdict_of(CHECKS, [Measure(100), Measure(7, 7), Measure(None)])
    found = replace(verdict.results[1], examples=(Example("file:///a b.json", 3, "9"), Example("file:///c", 0, "8")))
    verdict = replace(verdict, results=(verdict.results[0], found, verdict.results[2]))
    record(lake, QUESTION, verdict, Decision.OVERRIDDEN, "the shop was closed")
    past = past_results(lake, "things")
    assert [one.result for one in past] == list(verdict.results)
    assert {(one.run, one.at, one.scope, one.contract) for one in past} == {("run-1", NOW, "increment", "things@1")}
    assert {(one.decision, one.reason) for one in past} == {(Decision.OVERRIDDEN, "the shop was closed")}
    assert past_results(lake, "others") == []


def test_a_run_without_checks_leaves_nothing(lake: Lake) -> None:
    record(lake, QUESTION, replace(verdict_of(CHECKS, [Measure(1)] * 3), results=()), Decision.PUBLISHED)
    assert past_results(lake, "things") == []
    assert not lake.quality.exists()


def test_each_run_is_one_commit(lake: Lake) -> None:
    for hour in range(3):
        judged(lake, hour)
    table = load_table(lake, OPS, QUALITY)
    assert len(table.metadata.snapshots) == 3
    assert table.scan().to_arrow().num_rows == 9


def test_only_the_newest_results_are_kept_for_the_report(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "KEPT", 2)
    for hour in (0, 2, 1):
        judged(lake, hour)
    assert [one.run for one in results.kept_results(lake, "things")] == ["run-001", "run-002"]
    assert sorted(place.name for place in (lake.quality / "results" / "things").iterdir()) == ["run-001", "run-002"]
    assert len(past_results(lake, "things")) == 9


def test_a_run_with_an_odd_name_stays_in_its_folder(lake: Lake) -> None:
    question = replace(QUESTION, run="../../a b/$x")
    record(lake, question, verdict_of(CHECKS, [Measure(1), Measure(0), Measure(1)], question), Decision.PUBLISHED)
    (kept,) = results.kept_results(lake)
    assert (kept.dataset, kept.run, kept.at, kept.what) == ("things", "..-..-a-b-x", NOW, "increment")
    assert build_report(lake).is_file()


def page_text(page: Path) -> str:
    """What a reader without scripts sees."""
    without = re.sub(r"<(script|style).*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", without))


def test_the_report_has_a_page_for_each_run_in_words(lake: Lake) -> None:
    judged(lake, 0)
    judged(lake, 1, failing=7, age=7200, decision="stopped")
    first = build_report(lake)
    assert first == lake.quality / "report" / "index.html"
    assert {"run-000", "run-001"} <= set(re.findall(r"run-\d+", first.read_text("utf-8")))
    text = page_text(newest_pages(lake)["things"])
    assert "things" in text
    assert "there are at least 1 rows" in text
    assert "small: 7 of 100 rows fail; wanted: every n is at most 5 (warn: stopped)" in text
    assert "fresh: the newest is 2.0 h old; wanted: the newest at is at most 1h old (stop: stopped)" in text


def test_the_report_is_in_the_lake_and_nowhere_else(
    lake: Lake, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    judged(lake, 0)
    build_report(lake)
    assert list(elsewhere.iterdir()) == []


def test_the_report_grows_and_shrinks_with_what_is_kept(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(lake, 0)
    page = newest_pages(lake)["things"]
    build_report(lake)
    drawn = page.stat().st_mtime_ns
    judged(lake, 1)
    index = build_report(lake).read_text("utf-8")
    assert page.stat().st_mtime_ns == drawn, "a page that is there is not drawn again"
    assert {"run-000", "run-001"} <= set(re.findall(r"run-\d+", index))
    monkeypatch.setattr(results, "KEPT", 1)
    judged(lake, 2)
    assert set(re.findall(r"run-\d+", build_report(lake).read_text("utf-8"))) == {"run-002"}
    assert not page.exists()


def test_what_a_record_holds_cannot_become_part_of_the_page(lake: Lake) -> None:
    checks = [check_of("in_set", name="shape", column="n", values=("<b>$x ${y}</b>",))]
    verdict = verdict_of(checks, [Measure(1, 1)])
    example = Example("file:///<i>", 0, "<script>alert('$z')</script>")
    record(
        lake, QUESTION, replace(verdict, results=(replace(verdict.results[0], examples=(example,)),)), Decision.STOPPED
    )
    build_report(lake)
    source = newest_pages(lake)["things"].read_text("utf-8")
    assert "&lt;script&gt;alert(&#x27;&#36;z&#x27;)&lt;/script&gt;" in source
    assert "alert('" not in source
    assert "<b>" not in source


def test_a_trend_shows_the_last_runs_and_the_last_failure(lake: Lake) -> None:
    for hour, failing in enumerate((8, 0, 3, 0)):
        judged(lake, hour, failing=failing, age=60 * 2**hour)
    enough, small, fresh = trends_of(lake, "things", limit=3)
    assert (enough.name, enough.bars, enough.last_failure) == ("enough", "███", None)
    assert (small.bars, small.last.result.found) == ("▁✗▁", 0)
    assert small.last_failure is not None
    assert (small.last_failure.result.found, small.last_failure.at) == (3, NOW + timedelta(hours=2))
    assert fresh.bars == "▃▅█"
    (only,) = trends_of(lake, "things", "small")
    assert [one.result.found for one in only.past] == [8, 0, 3, 0]


def test_increments_and_whole_tables_are_trends_of_their_own(lake: Lake) -> None:
    judged(lake, 0, failing=3)
    judged(lake, 1, scope="table")
    judged(lake, 2)
    increments, tables = trends_of(lake, "things", "small")
    assert (increments.scope, [one.result.found for one in increments.past]) == ("increment", [3, 0])
    assert (tables.scope, [one.result.found for one in tables.past]) == ("table", [0])


def test_a_trend_of_a_check_that_nobody_did_is_refused_with_the_nearest(lake: Lake) -> None:
    judged(lake, 0)
    with pytest.raises(Refused, match="`smal` of things; did you mean `small`"):
        trends_of(lake, "things", "smal")


@pytest.fixture
def things(lake: Lake) -> Lake:
    text = (
        "dataset: things\nversion: 1\nsource: {files: landing/things}\nfields: {n: {type: int}}\nsilver: {key: [n]}\n"
    )
    ensure_tables(lake, parse_contract(text, "things.yaml"))
    return lake


def test_history_needs_no_jvm_and_says_when_there_is_none(things: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--lake", str(things.root), "quality", "history", "things"]
    assert run(words) == 0
    assert "no check of things has been done yet; smelt quality run things" in capsys.readouterr().out
    judged(things, 0, failing=2)
    judged(things, 1)
    assert run(words) == 0
    said = capsys.readouterr().out
    assert re.search(r"small +increment +✗▁ +0 +2026-11-16 12:00Z: 2", said)
    assert run([*words, "--check", "small", "--limit", "1", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["check"], [one["ok"] for one in told["runs"]]) == ("small", [True])
    assert run([*words, "--check", "nope"]) == 1
    assert run([*words[:-1], "nothing"]) == 3


def test_docs_prints_where_the_report_is(
    things: Lake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--lake", str(things.root), "quality", "docs"]
    assert run(words) == 1
    assert "no check has been done yet" in capsys.readouterr().err
    judged(things, 0)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert run(words) == 0
    first, page = capsys.readouterr().out.splitlines()
    assert Path(first).is_file()
    assert Path(page.removeprefix("  things: ")).is_file()
    assert opened == []
    assert run([*words, "--open"]) == 0
    assert opened == [Path(first).as_uri()]


def test_dropping_a_lake_drops_the_report(things: Lake) -> None:
    judged(things, 0)
    assert things.quality.is_dir()
    assert run(["--lake", str(things.root), "lake", "drop", "--yes"]) == 0
    assert not things.quality.exists()
