from __future__ import annotations

import datetime
import json
import random
from collections import Counter
from decimal import Decimal

import pytest
from plain_judge import problems, read
from runs import arrival_of

from smelter.contracts import Contract, parse_contract
from smelter.errors import Refused
from smelter.producer import SAMPLE_START, good_record_text, record_maker


def a_contract(fields: str) -> Contract:
    return parse_contract(f"dataset: d\nversion: 1\nfields: {{{fields}}}\nsource: {{files: landing/d}}\n", "d.yaml")


def test_every_type_and_rule_gets_values_that_keep_it(everything):
    rng = random.Random(1)
    for _ in range(150):
        text = good_record_text(everything, rng).decode("utf-8")
        assert problems(everything, text, SAMPLE_START) == []


def test_every_field_is_there_sometimes_and_optional_ones_are_also_null_or_left_out(everything):
    rng = random.Random(2)
    records = [json.loads(good_record_text(everything, rng)) for _ in range(100)]
    for name, source_name in everything.source_names.items():
        seen = {"absent" if source_name not in r else "null" if r[source_name] is None else "there" for r in records}
        assert seen == ({"there"} if everything.fields[name].required or name == "id" else {"there", "null", "absent"})


def test_good_records_of_the_shipped_contracts_keep_them(events, taxi_trips, run):
    for contract in (events, taxi_trips):
        done = run(contract, 300, records_per_file=100)
        assert {line["verdict"] for line in done.truth} == {"good"}
        for line in done.truth:
            assert problems(contract, line["record"], arrival_of(line["source"])) == []


def test_a_taxi_is_left_after_it_was_entered(taxi_trips):
    make = record_maker(taxi_trips, 3)
    for trip in map(make, range(200)):
        assert trip["tpep_pickup_datetime"] < trip["tpep_dropoff_datetime"]


def test_events_look_like_a_shop(events, run):
    records = [json.loads(line["record"], parse_float=str) for line in run(events, 2000).truth]
    kinds = Counter(record["event_type"] for record in records)
    people = Counter(record["user_id"] for record in records)
    assert 100 < kinds["purchase"] < 400
    assert 150 < len(people) <= 400
    assert people.most_common(1)[0][1] > 20 * min(people.values())
    assert len({record["event_id"] for record in records}) == 2000
    for record in records:
        if record["event_type"] == "purchase":
            assert record["product_id"].startswith("sku-")
            assert len(record["properties"]["amount"].partition(".")[2]) == 2


def test_an_event_is_about_330_bytes(events, run):
    sizes = [len(line["record"]) for line in run(events, 500).truth]
    assert 310 < sum(sizes) / len(sizes) < 350


def test_a_changed_events_contract_still_gets_records_that_keep_it():
    stricter = parse_contract(
        """
        dataset: events
        version: 2
        fields:
          user_id:    {type: string, required: true, max_length: 4}
          event_id:   {type: long, required: true}
          event_type: {type: string, required: true, one_of: [click]}
          product_id: {type: string, required: true}
          properties: {type: "map<string,int>", required: true}
          price:      {type: "decimal(8,2)", required: true}
        source: {files: landing/events}
        """,
        "events.yaml",
    )
    rng = random.Random(4)
    for _ in range(50):
        text = good_record_text(stricter, rng).decode()
        assert problems(stricter, text, SAMPLE_START) == []


def test_a_record_is_the_same_each_time_it_is_asked_for(everything):
    first, second = record_maker(everything, 5), record_maker(everything, 5)
    assert [first(8), first(3)] == [first(8), second(3)]
    assert record_maker(everything, 6)(8) != first(8)
    assert isinstance(first(1)["price"], Decimal)


def test_a_local_time_never_falls_where_clocks_change():
    contract = a_contract(
        "at: {type: timestamp, required: true, zone: Europe/Berlin, format: '%Y-%m-%d %H:%M'},"
        "hour: {type: timestamp, required: true, zone: Australia/Lord_Howe, format: '%Y-%m-%d %H'}"
    )
    for change in ("2026-03-29T01:00:00+00:00", "2026-10-25T01:00:00+00:00", "2026-10-03T15:35:00+00:00"):
        for minutes in range(-130, 130, 7):
            arrival = datetime.datetime.fromisoformat(change) + datetime.timedelta(minutes=minutes)
            text = good_record_text(contract, random.Random(minutes), arrival).decode()
            assert problems(contract, text, arrival) == []
            local = datetime.datetime.strptime(read(text)["at"], "%Y-%m-%d %H:%M")
            assert not datetime.datetime(2026, 10, 25, 2) <= local < datetime.datetime(2026, 10, 25, 3)


@pytest.mark.parametrize(
    "pattern",
    [
        "abc", "a|bc|", "[a-f0-9]{8}", "[^abc]+", "(?P<x>ab?)(?P=x)", r"\d{3}-\d{4}", r"\w+\s\S+", r"^x.*y$",
        "(?i:HELLO)", "(?:a|b){2,}c*?", r"[\w.]+@[\w]+\.(com|org)", "é+ß", r"\\\"", "[À-ÿ]{3}", "(a)?b(?(1)c|d)",
        r"\bword\b", "(?=a)a+", "(?!b)[ab]x", "[]x-]", r"[\d\-]+", "(?s:.{0,3})", "a++b", "(?>ab)c",
        "[A-Z]{2}[0-9]{6}(?:[A-Z]{3})?",
    ],
)  # fmt: skip
def test_a_pattern_gets_texts_that_match_it_as_a_whole(pattern):
    contract = a_contract(f"code: {{type: string, required: true, pattern: {json.dumps(pattern)}}}")
    rng = random.Random(9)
    for _ in range(20):
        assert problems(contract, good_record_text(contract, rng).decode(), SAMPLE_START) == []


def test_a_pattern_and_an_exact_length_are_kept_together():
    contract = a_contract("code: {type: string, required: true, pattern: '[a-z]+', min_length: 30, max_length: 30}")
    for seed in range(20):
        assert problems(contract, good_record_text(contract, random.Random(seed)).decode(), SAMPLE_START) == []


@pytest.mark.parametrize(
    "field",
    [
        "{type: string, pattern: 'a(?!.)b', required: true}",
        "{type: string, pattern: 'abc', max_length: 2, required: true}",
        "{type: 'decimal(4,1)', min: 0.01, max: 0.09, required: true}",
        "{type: int, one_of: [7], max: 5, required: true}",
        "{type: timestamp, min: 2090-01-01T00:00:00Z, not_after_arrival: 1h, required: true}",
    ],
)
def test_a_field_that_no_value_can_satisfy_is_refused_by_its_name(field):
    with pytest.raises(Refused, match="impossible_one"):
        good_record_text(a_contract(f"impossible_one: {field}"), random.Random(1))
