"""Corners of docs/records.md that its tables do not show, as the page has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from readings import cut, recounted

from smelter.ledger.recount import CountLimits

KIB = 1024


@pytest.mark.parametrize(
    ("text", "records"),
    [
        (b"01", [b"0", b"1"]),
        (b"truefalse", [b"true", b"false"]),
        (b'1.5.5\n  x\n{"a":1}', [b"1.5.5\n  x", b'{"a":1}']),
        (b'{\n  "a":1\n  } x\n  {"a":2}\n', [b'{\n  "a":1\n  } x', b'{"a":2}']),
        (b'[:\n  1] x\n  {"a":1}\n', [b":\n  1", b"x", b'{"a":1}']),
        (b'  {"a":\n }\n  {"a":1}', [b'{"a":\n }', b'{"a":1}']),
        (b'{"a":1} tru', [b'{"a":1} tru']),
        (b'{"a":1}{"a":', [b'{"a":1}', b'{"a":']),
        (b"[,]", [b"", b""]),
        (b'["x,{}"y,{"a":1}]', [b'"x', b'{}"y', b'{"a":1}']),
        (b'[{"a":"x"y, "b":[}, {"a":1}]', [b'{"a":"x"y, "b":[}', b'{"a":1}']),
        (b'\xef\xbb\xbf{"a":1}', [b'{"a":1}']),
        (b'\n\xef\xbb\xbf{"a":1}', [b'\xef\xbb\xbf{"a":1}']),
        (b"1 truee", [b"1", b"truee"]),  # only a number is broken by the `e` behind it
        (b"truee\n  x", [b"truee", b"x"]),
    ],
)
def test_corners_of_the_rules(text: bytes, records: list[bytes]) -> None:
    assert cut(text) == records


def test_what_is_nested_too_deep_is_broken() -> None:
    limits = CountLimits(max_depth=2)
    records = [b'{"a":[1]}', b'{"a":[[1]]}', b'{"a":2}']
    for text in (b"\n".join(records), b"[" + b",".join(records) + b"]"):
        assert cut(text, limits) == records
    assert cut(b"\n  ".join(records), limits) == [b'{"a":[1]}', b'{"a":[[1]]}', b'{"a":2}']
    deep = b'{"a":[[1]]}\n  {"a":[1]}'
    assert cut(deep, limits) == [deep]


@pytest.mark.parametrize("levels", range(1, 12))
def test_depth_is_counted_the_same_on_the_fast_way_and_on_the_slow_one(levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    for max_depth in range(1, 12):
        found = cut(deep + b'\n {"a":1}\n', CountLimits(max_depth=max_depth))
        assert len(found) == (2 if levels <= max_depth else 1)


def test_brackets_are_counted_up_to_64_kib_beyond_the_byte_that_breaks_an_element() -> None:
    for before in (b"", b"x" * 70 * KIB):
        broken = b'{"a":"' + before + b'\x01","b":[1,{"c":1}]}'
        assert cut(b"[" + broken + b',2,{"a":3}]') == [broken[: 64 * KIB], b"2", b'{"a":3}']
    for beyond, count in ((64 * KIB - 1, 3), (64 * KIB, 2)):
        assert len(cut(b"[" + b"x" * beyond + b',2,{"a":3}]')) == count


SMALL = CountLimits(max_record_bytes=20)
X = b"x" * 30


@pytest.mark.parametrize(
    ("text", "records"),
    [
        (b'{"a":1}\n{"a":"%s"}\n{"a":2}', [b'{"a":1}', b'{"a":"%s"}', b'{"a":2}']),
        (b'{"a":"%s"}\n  {"a":2}\n{"a":3}', [b'{"a":"%s"}\n  {"a":2}', b'{"a":3}']),
        (b'[1,{"a":"%s,]"},2]', [b"1", b'{"a":"%s,]"}', b"2"]),
        (b'[{"a":"%s\n},2]', [b'{"a":"%s\n}', b"2"]),
        (b'[{"a":"%s\\\n},2]', [b'{"a":"%s\\\n}', b"2"]),  # a line break ends the string, whatever is before it
        (b'[{"a":["%s"}},2]', [b'{"a":["%s"}}', b"2"]),
        (b'[{"a":"%s"', [b'{"a":"%s"']),
        (b'[["%s\n    ]] x\n  y', [b'["%s\n    ]', b"x", b"y"]),  # y is not indented deeper than the line of x
        (b"1 222222222222222222222222222222\n", [b"1 222222222222222222222222222222"]),  # as a string that is too long
        (b'{"a":1} %s\n  y\nz', [b'{"a":1} %s\n  y', b"z"]),
    ],
)
def test_a_record_beyond_the_limit_is_one_and_the_next_is_read(text: bytes, records: list[bytes]) -> None:
    assert cut(text.replace(b"%s", X), SMALL) == [record.replace(b"%s", X) for record in records]


@pytest.mark.parametrize("limit", [100, 200 * KIB])
@pytest.mark.parametrize("white", [b" " * 300 * KIB, b" " * 80 * KIB, b" " * 50])
def test_however_much_white_space_follows_a_record_it_is_one_record(white: bytes, limit: int) -> None:
    limits = CountLimits(max_record_bytes=limit)
    assert cut(b'{"a":1}' + white, limits) == [b'{"a":1}']
    assert cut(b'{"a":1}' + white + b"{}", limits) == [b'{"a":1}', b"{}"]
    assert cut(b'{"a":1}' + white + b"x\n2", limits)[1:] == [b"2"]
    assert cut(b"[1" + white + b"\n,2]", limits) == [b"1", b"2"]
    assert cut(b"[1" + white, limits) == [b"1", b""]
    assert cut(b"[1" + white + b"x,2]", limits)[1:] == [b"2"]
    assert cut(b"{x}" + white + b"\n" + white + b"\n2", limits) == [b"{x}", b"2"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b'{"a":1}\n', 2),
        (b'{"a":1}\n{"a":\n', 2),  # open, and nothing else follows
        (b'{"a":1}\nrubbish', 2),  # broken up to the very end
        (b'{"a":1}\nrubbish\n', 3),
        (b'{"a":1} tru', 1),
        (b"[1,", 2),
        (b"[1,x", 2),
        (b"[,", 2),  # the empty record ends before the comma
        (b"", 1),
    ],
)
def test_a_file_to_blame_has_one_letter_about_its_end(tmp_path: Path, text: bytes, count: int) -> None:
    beyond = text + b"  " if text else b"xx"
    assert recounted(tmp_path, beyond, CountLimits(max_file_bytes=len(text))).records == count
