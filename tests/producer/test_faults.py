from __future__ import annotations

import datetime
import json

import pytest
from plain_judge import problems
from runs import arrival_of

from smelter.contracts import parse_contract
from smelter.producer import Format

RECORD_FAULTS = (
    "invalid", "missing", "nulls", "wrong_type", "extra", "duplicate", "late", "out_of_order", "future", "garbage",
)  # fmt: skip
EVERY_FAULT = dict.fromkeys((*RECORD_FAULTS, "corrupt", "empty_file", "duplicate_file"), 0.05)
LENIENT = """
dataset: lenient
version: 1
fields: {note: {type: string}, size: {type: int}}
unknown_fields: ignore
source: {files: landing/lenient}
"""


def expected(line):
    return [] if line["reason"] is None else [(line["reason"], line["field"])]


@pytest.mark.parametrize("form", list(Format))
def test_every_record_is_what_the_truth_says(events, taxi_trips, everything, run, form):
    for contract in (events, taxi_trips, everything):
        done = run(contract, 300, faults=EVERY_FAULT, format=form, records_per_file=50)
        for line in done.truth:
            if line["record"] is not None:
                assert problems(contract, line["record"], arrival_of(line["source"])) == expected(line), line


@pytest.mark.parametrize("fault", RECORD_FAULTS)
def test_a_rate_is_kept_roughly_and_touches_nothing_else(everything, run, fault):
    done = run(everything, 400, faults={fault: 0.2})
    assert 50 < len(done.said_of(fault)) < 110
    assert {line["fault"] for line in done.truth} == {None, fault}
    assert all(line["verdict"] == "good" for line in done.said_of(None))
    reasons = {
        "missing": "missing_field", "nulls": "missing_field", "wrong_type": "wrong_type", "extra": "unknown_field",
        "invalid": "rule_broken", "future": "rule_broken", "garbage": "not_json",
    }  # fmt: skip
    assert {line["reason"] for line in done.said_of(fault)} == {reasons.get(fault)}


def test_every_rule_of_a_contract_is_broken_in_its_turn(everything, run):
    done = run(everything, 600, faults={"invalid": 1})
    ruled = {
        everything.source_names[name]
        for name, rules in everything.fields.items()
        if any(getattr(rules, rule) is not None for rule in ("one_of", "min", "max", "pattern", "max_length"))
    }
    assert {line["field"] for line in done.said_of("invalid")} == ruled


def test_a_missing_field_is_not_there_and_a_null_one_is_null(events, run):
    for line in run(events, 200, faults={"missing": 1}).truth:
        assert line["field"] not in json.loads(line["record"])
    for line in run(events, 200, faults={"nulls": 1}).truth:
        assert json.loads(line["record"])[line["field"]] is None


def test_an_unknown_field_is_harmless_where_the_contract_ignores_it(run):
    lenient = parse_contract(LENIENT, "lenient.yaml")
    done = run(lenient, 100, faults={"extra": 1})
    assert done.produced.good == 100
    assert all(set(json.loads(line["record"])) - {"note", "size"} for line in done.said_of("extra"))


@pytest.mark.parametrize("fault", ["invalid", "missing", "nulls", "late", "future"])
def test_a_fault_that_the_contract_has_no_place_for_leaves_good_records(run, fault):
    done = run(parse_contract(LENIENT, "lenient.yaml"), 50, faults={fault: 1})
    assert {(line["verdict"], line["fault"]) for line in done.truth} == {("good", None)}


def test_a_duplicate_is_an_earlier_record_of_its_file_and_counts_as_one_of_them(events, run):
    done = run(events, 1000, faults={"duplicate": 0.1}, records_per_file=100)
    assert done.produced.records == 1000
    copies = done.said_of("duplicate")
    assert copies
    for copy in copies:
        same = [line["position"] for line in done.truth if line["record"] == copy["record"]]
        assert len(same) > 1
        assert copy["position"] > min(same)


def test_ids_are_unique_but_for_duplicates(everything, run):
    done = run(everything, 200, faults={"late": 0.5, "out_of_order": 0.3})
    assert len({json.loads(line["record"])["id"] for line in done.truth}) == 200


def test_a_late_event_happened_an_hour_to_three_days_before_its_file(events, run):
    for line in run(events, 200, faults={"late": 1}).truth:
        age = arrival_of(line["source"]) - happened(line)
        assert datetime.timedelta(hours=1) <= age <= datetime.timedelta(days=3)


def test_a_late_event_keeps_the_smallest_time_that_is_allowed(events, run):
    start = datetime.datetime(2020, 1, 1, 2, tzinfo=datetime.UTC)
    for line in run(events, 50, faults={"late": 1}, start=start).truth:
        assert happened(line) >= datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def test_a_future_event_is_later_than_its_file_by_more_than_is_allowed(events, run):
    for line in run(events, 200, faults={"future": 1}).truth:
        assert happened(line) > arrival_of(line["source"]) + datetime.timedelta(hours=1)


def test_records_out_of_order_lose_nothing(events, run):
    done = run(events, 300, faults={"out_of_order": 0.2})
    times = [happened(line) for line in done.truth]
    assert times != sorted(times)
    assert len(set(times)) == 300
    for line in done.said_of("out_of_order"):
        at = line["position"]
        assert times[at] != sorted(times)[at]


def test_rates_that_add_up_to_more_than_one_share_the_records(events, run):
    done = run(events, 400, faults={"missing": 1, "garbage": 1})
    assert 150 < len(done.said_of("missing")) < 250
    assert len(done.said_of("missing")) + len(done.said_of("garbage")) == 400


def test_garbage_in_an_array_is_one_element_on_one_line(events, run):
    for line in run(events, 200, faults={"garbage": 1}).truth:
        text = line["record"]
        assert not text.startswith("[")
        assert "\n" not in text
        depth = 0
        for char in text:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(char, 0)
            assert char != "," or depth > 0
        assert depth == 0
        assert text.count('"') % 2 == 0


def happened(line):
    return datetime.datetime.fromisoformat(json.loads(line["record"])["event_timestamp"])
