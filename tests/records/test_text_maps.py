"""Maps of texts are read thousands at a time; whatever stands in them and around them, one at a time says the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from judging import ARRIVED, judge_of, judged

from smelter.records.map_entries import entries_of

REQUIRED = judge_of('id: {type: string, required: true}\nm: {type: "map<string,string>", required: true}')
OPTIONAL = judge_of('id: {type: string, required: true}\nm: {type: "map<string,string>"}')
WHITE = st.sampled_from(["", "", "", " ", " ", "  ", "\t", "\r"])
TEXTS = st.text('ab:,{}[] \t"\\é\u2028😀-0tnf', max_size=6)
STRINGS = st.one_of(TEXTS.map(json.dumps), TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)))
SCALARS = st.one_of(
    STRINGS,
    st.sampled_from(["0", "-0", "1.10", "1e5", "-1E-7", "true", "false", "9" * 30, "1e400", "9" * 5000]),
    st.integers().map(str),
)
OTHERS = st.sampled_from(["null", "{}", "[]", '{"a":1}', '{"a":{"b":"c"},"d":1}', '[1,"x",{"y":2}]', '["]"]'])


@st.composite
def maps(draw: st.DrawFn) -> str:
    """The text of an object, as some program might write it; now and then of something else."""
    if draw(st.integers(0, 11)) == 0:
        return draw(st.one_of(SCALARS, OTHERS))
    value = SCALARS if draw(st.integers(0, 3)) else st.one_of(SCALARS, OTHERS)
    spaced = draw(st.sampled_from([st.just(""), st.just(" "), WHITE]))
    entries = [f"{draw(spaced)}{draw(STRINGS)}:{draw(spaced)}{draw(value)}" for _ in range(draw(st.integers(0, 4)))]
    if draw(st.integers(0, 5)) == 0:
        entries = [
            f"{draw(WHITE)}{draw(STRINGS)}{draw(WHITE)}:{draw(WHITE)}{draw(value)}{draw(WHITE)}" for _ in entries
        ]
    return f"{{{','.join(entries).strip()}{draw(WHITE) if not entries else ''}}}"


@given(st.lists(maps(), min_size=1, max_size=12), st.sampled_from([REQUIRED, OPTIONAL]))
@settings(max_examples=600)
@example(['{"a":1}', '"x"'], REQUIRED)
@example(['{"a":"b","a":"c"}', "null", "{}"], OPTIONAL)
@example(['{"a" :1,"b":2}', '{"a":1 ,"b":2}', '{"a":1, "b":2}', '{"a":1,  "b":2}', '{"a":1 }', '{ "a":1}'], REQUIRED)
@example(['{"a":{"b":1},"c":2}', '{"k":"v"}', '{"a":"\\""}', '{"k":"\\\\","x":"y"}', '{"":""}'], REQUIRED)
def test_many_at_once_are_what_each_is_alone(texts: list[str], judge) -> None:
    records = [f'{{"id":"x","m":{text}}}'.encode() for text in texts]
    found = judged(judge, b"\n".join(records))
    problems = {place: judge.problems_of(record, ARRIVED) for place, record in enumerate(records)}
    refused = {letter.position: letter.errors for letter in found.letters}
    assert refused == {place: one for place, one in problems.items() if one}
    for row in found.rows:
        assert row["m"] == expected(texts[row["_position"]])


def expected(text: str) -> list[tuple[str, str]] | None:
    """What Python's own reader makes of it, with every scalar as its text."""
    read = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=list)
    if read is None:
        return None
    return [(key, str(value).lower() if isinstance(value, bool) else value) for key, value in read]


@pytest.mark.parametrize(
    ("text", "is_odd"),
    [
        ('{"a":1,"b":"x","c":true}', False),
        ('{"a": 1, "b": "x"}', False),
        ("{}", False),
        ('{"a":"{[:,"}', False),
        ('{"a":"\\n"}', True),
        ('{"a":[]}', True),
        ('{"a":null}', True),
        ('{ "a":1 }', True),
        ("[1]", True),
        ('"a"', True),
    ],
)
def test_what_programs_write_is_plain_and_the_rest_is_odd(text: str, is_odd: bool) -> None:
    """Beside others, and as the last of all."""
    for texts in ([text.encode(), b'{"k":"v"}'], [b'{"k":"v"}', text.encode()]):
        found = entries_of(texts)
        assert found.odd.tolist() == [is_odd and one == text.encode() for one in texts]
        assert ("k", "v") in zip(found.keys.to_pylist(), found.items.to_pylist(), strict=True)


def test_a_key_that_comes_twice_is_found_among_few_keys_and_among_many() -> None:
    many = [json.dumps({f"key{n}-{k}": k for k in range(3)}, separators=(",", ":")).encode() for n in range(50)]
    twice = b'{"a":1,"b":2,"a":3}'
    assert entries_of([b'{"a":1}', twice, b"{}", b'{"b":1,"a":2}']).repeated.tolist() == [False, True, False, False]
    assert entries_of([*many, twice]).repeated.tolist() == [False] * 50 + [True]
