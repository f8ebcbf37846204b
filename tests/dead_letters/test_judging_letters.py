"""Letters are judged together, and each as if it were alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from boxes import orders
from hypothesis import given
from hypothesis import strategies as st

from smelter.contracts import parse_contract
from smelter.records import Judge, Limits

ARRIVED = datetime(2026, 3, 1, tzinfo=UTC)
CONTRACT = parse_contract(
    "dataset: orders\nversion: 1\nfields:\n  id: {type: long, required: true, min: 0}\n  note: {type: string}\n"
    "  at: {type: timestamp, not_after_arrival: 1h}\nsource: {files: landing/orders}\n",
    "orders.yaml",
)
JUDGE = Judge(CONTRACT, Limits(max_record_bytes=200, max_depth=5))
TEXTS = [
    b'{"id": 1}',
    b'{"id": 2, "note": "x\\u00e9"}',
    '{"id": 3, "note": "é\u2028\u0085"}'.encode(),
    b'{"id": 4}{"id": 5}',
    b'{"id": 6} {"id": 7}',
    b'{"id": 8},{"id": 9}',
    b'{"id": 10}\n{"id": 11}',
    b'{"id":\n12}',
    b'{"id": 13}\n',
    b'\n{"id": 14}',
    b' {"id": 15} ',
    b'{"id": 16}\r',
    b"",
    b" ",
    b"null",
    b"[]",
    b'[{"id": 17}]',
    b'{"id": 18, "id": 19}',
    b'{"id": "20"}',
    b'{"id": -1}',
    b'{"id": -0}',
    b'{"id": 21, "note": "\xff"}',
    b'{"id": 22, "note": "' + b"x" * 300 + b'"}',
    b'{"id": 23, "note": [[[[[[[[]]]]]]]]}',
    b'{"id": 24, "coupon": {"a": {"b": {"c": {"d": {}}}}}}',
    b'{"id": 25, "at": "2026-03-01T00:30:00Z"}',
    b'{"id": 26, "at": "2026-03-01T02:30:00Z"}',
    b"\xef\xbb\xbf" + b'{"id": 27}',
    b'{"id": 28',
    b'"id": 29}',
    b'{"id": 30, "note": null}',
]


def alone(text: bytes, hours: int) -> tuple[object, ...]:
    return JUDGE.problems_of(text, ARRIVED + timedelta(hours=hours))


def check(texts: list[bytes], hours: list[int]) -> None:
    start = int(ARRIVED.timestamp()) * 1_000_000
    arrived = np.array([start + 3600 * 1_000_000 * hour for hour in hours], np.int64)
    found = JUDGE.judge_records(texts, arrived)
    expected = {
        place: problems
        for place, (text, hour) in enumerate(zip(texts, hours, strict=True))
        if (problems := alone(text, hour))
    }
    assert found.bad == expected
    assert found.good.tolist() == [place for place in range(len(texts)) if place not in expected]
    single = [JUDGE.judge_records([texts[place]], arrived[place : place + 1]).fields for place in found.good.tolist()]
    assert found.fields.to_pylist() == [row for one in single for row in one.to_pylist()]


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from([0, 2])), min_size=1, max_size=8))
def test_a_letter_has_the_verdict_that_it_has_alone_whatever_is_beside_it(letters: list[tuple[bytes, int]]) -> None:
    check([text for text, _ in letters], [hour for _, hour in letters])


@given(st.lists(st.binary(max_size=30) | st.text('{}":,id1 \n[]', max_size=20).map(str.encode), min_size=1, max_size=4))
def test_a_letter_of_any_bytes_has_the_verdict_that_it_has_alone(texts: list[bytes]) -> None:
    check(texts, [0] * len(texts))


def test_each_letter_is_judged_by_its_own_arrival() -> None:
    check([TEXTS[26], TEXTS[26], TEXTS[25]], [0, 2, 0])
    assert alone(TEXTS[26], 0)
    assert not alone(TEXTS[26], 2)


@pytest.mark.parametrize("count", [1999, 2000, 2001, 4500])
def test_many_letters_are_judged_in_parts_and_counted_through(count: int) -> None:
    texts = [b'{"id": %d}' % number if number % 3 else b'{"id": "%d"}' % number for number in range(count)]
    found = Judge(orders()).judge_records(texts, np.zeros(count, np.int64))
    assert list(found.bad) == list(range(0, count, 3))
    assert found.fields["id"].to_pylist() == found.good.tolist() == [one for one in range(count) if one % 3]


def test_no_letters_are_no_verdicts() -> None:
    found = Judge(orders()).judge_records([], np.empty(0, np.int64))
    assert (found.fields.num_rows, found.good.tolist(), found.bad) == (0, [], {})
