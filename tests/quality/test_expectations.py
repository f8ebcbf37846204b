"""Great Expectations says of a measure what the check says, in its own words and without a sound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from asking import QUESTION, check_of, verdict_of

from smelter.quality.expectations import expect
from smelter.quality.measure import Measure
from smelter.quality.words import age, bounds, shown, wanted


@pytest.mark.parametrize(
    ("words", "good", "bad"),
    [
        ({"kind": "not_null", "column": "n"}, (0,), (1, 10**9)),
        ({"kind": "row_count", "min": 2, "max": 4}, (2, 3, 4), (1, 5)),
        ({"kind": "row_count", "min": 2}, (2, 10**12), (1, 0)),
        ({"kind": "row_count", "max": 0}, (0,), (1,)),
        ({"kind": "null_share", "column": "n", "max_share": "5%"}, (0, 0.05), (0.0500001, 1)),
        ({"kind": "freshness", "column": "n", "max_age": "1h"}, (3600, -5), (3600.001, None)),
    ],
)
def test_a_measure_is_good_up_to_its_bounds(words: dict[str, Any], good: tuple[Any], bad: tuple[Any]) -> None:
    measures = [Measure(number) for number in (*good, *bad)]
    checks = [check_of(**words, name=f"check {number}") for number in range(len(measures))]
    held = [result.ok for result in verdict_of(checks, measures).results]
    assert held == [True] * len(good) + [False] * len(bad)


def test_a_share_in_percent_is_held_by_exactly_that_many_rows() -> None:
    for tenths in range(1001):
        check = check_of("null_share", column="n", max_share=f"{tenths // 10}.{tenths % 10}%")
        assert check.share == tenths / 1000
    seven_of_a_thousand = check_of("null_share", column="n", max_share="0.7%")
    assert verdict_of([seven_of_a_thousand], [Measure(7 / 1000, 7)]).results[0].ok


def test_the_result_names_the_suite_the_run_and_each_check_with_its_severity() -> None:
    checks = [check_of("row_count", name="z", min=1), check_of("not_null", name="a", column="n", on_failure="warn")]
    told = json.loads(expect(checks, [Measure(0), Measure(0)], QUESTION).validation)
    assert (told["suite_name"], told["success"]) == ("things", False)
    assert told["meta"]["run_id"]["run_name"] == "run-1"
    config = {one["expectation_config"]["kwargs"]["column"]: one["expectation_config"] for one in told["results"]}
    assert (config["z"]["severity"], config["z"]["description"]) == ("critical", "there are at least 1 rows")
    assert (config["a"]["severity"], config["a"]["description"]) == ("warning", "every row has n")


def test_judging_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    expect([check_of("row_count", min=1)], [Measure(0)], QUESTION)
    assert capfd.readouterr() == ("", "")


def test_modules_that_only_other_expectations_need_wait_until_they_do() -> None:
    program = """
import sys
from smelter.quality.gx import warm_up
warm_up().join()
assert not {"altair", "scipy.stats", "scipy.stats._stats_py"} & set(sys.modules), "they were imported"
from great_expectations.expectations.core import expect_column_kl_divergence_to_be_less_than as one_of_them
import altair, scipy.stats
assert one_of_them.alt.Chart is altair.Chart
assert one_of_them.stats.entropy is scipy.stats.entropy
assert not hasattr(one_of_them.stats, "nothing_of_the_kind")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_can_be_imported_beside_other_work_with_every_warning_an_error() -> None:
    program = "from smelter.quality.gx import warm_up; warm_up().join(); import great_expectations"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"kind": "unique", "columns": ("a", "b")}, "no two rows have the same a, b"),
        ({"kind": "in_set", "column": "a", "values": tuple(range(7))}, "every a is one of 0, 1, 2, 3, 4 and 2 more"),
        ({"kind": "between", "column": "a", "min": 0, "max": 2.5}, "every a is 0 to 2.5"),
        ({"kind": "regex", "column": "a", "pattern": "x+"}, "every a matches x+"),
        ({"kind": "exists_in", "column": "a", "dataset": "d", "field": "f"}, "every a is in d.f"),
        ({"kind": "sql", "expression": "a > b"}, "every row has a > b"),
        ({"kind": "null_share", "column": "a", "max_share": 0.125}, "at most 12.5% of the rows have no a"),
    ],
)
def test_what_is_wanted_is_said_in_words(words: dict[str, Any], said: str) -> None:
    check = check_of(**words)
    assert wanted(check) == said
    assert bounds(check)[1] == (0.125 if check.check == "null_share" else 0)


def test_measures_are_shown_as_people_read_them() -> None:
    assert [age(seconds) for seconds in (45, 119, 210, 7200, 3 * 86400)] == [
        "45 s",
        "119 s",
        "3.5 min",
        "2.0 h",
        "3.0 d",
    ]
    assert [shown("null_share", 0.5), shown("freshness", 60), shown("unique", 1234), shown("freshness", None)] == [
        "50%",
        "60 s",
        "1,234",
        "nothing",
    ]
