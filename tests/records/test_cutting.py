"""How bytes are cut into records: the rules of docs/records.md, and that they do not depend on how bytes arrive."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from judging import cut

from smelter.records import scan
from smelter.records import text as text_module
from smelter.records.cut import Cutter
from smelter.records.pieces import Broken, CutOff, TooLarge, Whole

PAGE = Path(__file__).parents[2] / "docs" / "records.md"
FRAGMENTS = [
    b'{"a":1}', b'{"a":"x"}', b'{"a":{"b":[1,{"c":2}]}}', b"{", b"}", b"[", b"]", b",", b"\n", b"\n  ", b" ", b'"',
    b'"b"', b":", b"1", b"-", b"1.", b"1e", b"tru", b"true", b"x", b"\\", b"\xff", b'{"k":[1,',
    b"\xef\xbb\xbf", b"\r\n",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=24).map(b"".join)
OBJECTS = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.integers() | st.text(max_size=5) | st.none(), lambda inner: st.lists(inner, max_size=3), max_leaves=4
    ),
    max_size=3,
)


def examples_of_the_page() -> list[tuple[str, str, str | None]]:
    """Rows of the page's tables with a text in the first column."""
    rows = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `") and ("⏎" in cells[0] or cells[0][1] in "{["):
            rows.append((cells[0], cells[1], cells[2] if len(cells) > 2 else None))
    return rows


def _bytes(shown: str) -> bytes:
    return shown.strip("`").replace("⏎", "\n").encode()


@pytest.mark.parametrize(("text", "records", "rest"), examples_of_the_page())
def test_every_example_of_the_page_is_cut_as_it_says(text: str, records: str, rest: str | None) -> None:
    found = cut(_bytes(text))
    wanted: list[tuple[str, bytes]] = []
    for record in [] if records == "none" else records.split(" · "):
        kind = "broken" if record.startswith("✗") else "whole"
        wanted.append((kind, _bytes(record.removeprefix("✗"))))
    if rest is not None and not rest.startswith("none"):
        wanted.append(("rest", b"" if rest.startswith("nothing") else _bytes(rest)))
    assert found == wanted


def test_the_page_has_its_examples() -> None:
    assert len(examples_of_the_page()) >= 25


@given(TEXTS, st.integers(1, 9), st.sampled_from([1 << 24, 12, 30]), st.sampled_from([1, 7, 1 << 20]))
@settings(max_examples=400)
@example(b"{11.", 1, 1 << 24, 1)
@example(b'{"a":1}1.1{\\{"a":1}:{"a":1}["1.tru', 3, 30, 1)
def test_records_do_not_depend_on_where_chunks_end(text: bytes, chunk: int, limit: int, window: int) -> None:
    at_once = cut(text, max_record_bytes=limit)
    usual = text_module.WINDOW_BYTES
    text_module.WINDOW_BYTES = window
    try:
        assert cut(text, chunk=chunk, max_record_bytes=limit) == at_once
    finally:
        text_module.WINDOW_BYTES = usual


@given(TEXTS)
@settings(max_examples=400)
def test_no_byte_but_separators_is_left_out(text: bytes) -> None:
    rest = text.removeprefix(b"\xef\xbb\xbf")
    for _, record in cut(text):
        between, _, rest = rest.partition(record) if record else (b"", b"", rest)
        assert re.fullmatch(rb"[ \t\r\n,\[\]]*", between), between
    assert re.fullmatch(rb"[ \t\r\n,\[\]]*", rest)


@given(st.lists(OBJECTS, max_size=6), st.sampled_from([None, 0, 1, 2]), st.sampled_from(["\n", "", "\r\n\r\n", " "]))
def test_well_formed_documents_come_back_whole(records: list[object], indent: int | None, between: str) -> None:
    texts = [json.dumps(record, indent=indent) for record in records]
    assert [text for _, text in cut(between.join(texts).encode())] == [text.encode() for text in texts]


@given(st.lists(OBJECTS, max_size=6), st.sampled_from([None, 0, 2]), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_well_formed_arrays_come_back_whole(
    records: list[object], indent: int | None, separators: tuple[str, str]
) -> None:
    text = json.dumps(records, indent=indent, separators=separators).encode()
    found = cut(text)
    assert [json.loads(record) for _, record in found] == records
    assert all(kind == "whole" for kind, _ in found)


BROKEN_LINES = [
    b'{"a":', b'{"a":1', b'{"a":"x', b'{"a":1}}', b'{"a":1} x', b"rubbish", b"{'a':1}", b'{"a":NaN}', b'{"a":1},', b"}",
    b"]",    b'{"a":[1,', b'{"a":{', b"\x00\xff", b'{"a":"\x01"}', b"<html>", b'"', b"{", b"nul", b'{"a":01}',
    b'{"a":"\\x"}',
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN_LINES)
@pytest.mark.parametrize("indent", [b"", b"    "])
def test_a_broken_line_never_swallows_the_record_on_the_next(broken: bytes, indent: bytes) -> None:
    lines = [b'{"a":1}', broken, b'{"a":2}', broken, b'{"a":3}']
    found = cut(b"\n".join(indent + line for line in lines))
    assert [(kind, text) for kind, text in found] == [
        ("whole", b'{"a":1}'),
        ("broken", broken),
        ("whole", b'{"a":2}'),
        ("broken", broken),
        ("whole", b'{"a":3}'),
    ]


BROKEN_ELEMENTS = [
    b'{"a":}', b'{"a":1,}', b"{'a':1}", b'{"a":NaN}', b'{"a":1} x', b"undefined", b'{"a" 1}', b'{"a":"x}',
    b'{"a":{"b":1}',    b'{"a":1}}', b'{"a":"\x01"}', b'{"a":01}', b'{"a":"\\x"}', b"{1:2}", b'{"a":[1,}',
    b'{"a":1]', b'{"a":/*c*/1}',
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN_ELEMENTS)
@pytest.mark.parametrize("between", [b",", b", ", b",\n  "])
def test_a_broken_element_is_one_record_and_the_next_is_read(broken: bytes, between: bytes) -> None:
    elements = [b'{"a":1}', broken, b'{"a":2}', b'{"a":[{"b":1},{"c":2}]}']
    found = cut(b"[" + between.join(elements) + b"]")
    assert found == [
        ("whole", b'{"a":1}'),
        ("broken", broken),
        ("whole", b'{"a":2}'),
        ("whole", b'{"a":[{"b":1},{"c":2}]}'),
    ]


@pytest.mark.parametrize("kind", ["ndjson", "array", "pretty array", "pretty documents", "glued"])
def test_cutting_a_valid_text_anywhere_leaves_whole_records_and_at_most_one_rest(kind: str) -> None:
    records = [{"a": i, "b": {"c": [1, {"d": "x,}{]"}, {}]}, "e": 'ü\\"'} for i in range(4)]
    compact = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records]
    text = {
        "ndjson": "\n".join(compact) + "\n",
        "array": "[" + ",".join(compact) + "]",
        "pretty array": json.dumps(records, indent=2, ensure_ascii=False),
        "pretty documents": "\n".join(json.dumps(r, indent=2, ensure_ascii=False) for r in records),
        "glued": "".join(compact),
    }[kind].encode()
    whole = cut(text)
    assert [json.loads(t) for _, t in whole] == records
    ends = []
    at = 0
    for _, record in whole:
        at = text.index(record, at) + len(record)
        ends.append(at)
    for offset in range(len(text)):
        found = cut(text[:offset])
        complete = sum(end <= offset for end in ends)
        assert found[:complete] == whole[:complete], offset
        assert [k for k, _ in found[complete:]] in ([], ["rest"]), (offset, found[complete:])


def test_a_record_beyond_the_limit_is_passed_over_and_the_next_is_read() -> None:
    large = b'{"a":"' + b"x" * 5000 + b'"}'
    for text in (
        b'{"a":1}\n' + large + b'\n{"a":2}\n',
        b'[{"a":1},' + large + b',{"a":2}]',
        b'{"a":1}\n{"a":"' + b"x" * 5000 + b'\n{"a":2}\n',
        b'[{"a":1},\n{"a":[' + b'{"b":1},' * 900 + b'1]},\n{"a":2}]',
    ):
        for chunk in (1, 100, 1_000_000):
            found = cut(text, chunk=chunk, max_record_bytes=1024)
            assert [kind for kind, _ in found] == ["whole", "large", "whole"], (text[:20], chunk)
            assert found[2] == ("whole", b'{"a":2}')


def tokens_scanned(text: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many tokens the scanner looked at while the text was cut."""
    count = 0
    follow = scan._follow

    def counting(state: int, token: int, stack: bytearray) -> int | None:
        nonlocal count
        count += 1
        return follow(state, token, stack)

    with monkeypatch.context() as patch:
        patch.setattr(scan, "_follow", counting)
        assert cut(text)
    return count


@pytest.mark.parametrize("unit", [b'{"a":\n', b'[{"a":x[,{},', b'[{"a":[1,', b"[", b'{"a":[1,\n'])
def test_the_work_for_hostile_nesting_grows_with_the_text_not_with_its_square(
    unit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = tokens_scanned(unit * 500, monkeypatch)
    assert tokens_scanned(unit * 1000, monkeypatch) <= 2.5 * once + 1000


MIB = 1024 * 1024
MUCH_WHITE = [
    (b'{"a":1}', b" ", b"", ["whole"]),
    (b'{"a":1}', b" ", b"x\n2", ["large", "whole"]),
    (b"1", b" ", b"2", ["whole", "whole"]),
    (b'[{"a":1}', b" ", b"", ["whole", "rest"]),
    (b"[1", b"\n", b",2]", ["whole", "whole"]),
    (b"[1", b"\n", b"x,2]", ["large", "whole"]),
    (b"rubbish", b" ", b"\n2", ["broken", "whole"]),
    (b"rubbish\n", b"\n", b"2", ["broken", "whole"]),
    (b"rubbish\n", b"\n", b" 2", ["large"]),
    (b"[x}", b"\n", b",{}]", ["broken", "whole"]),
]


def cut_much_white(first: bytes, unit: bytes, last: bytes, mebibytes: int) -> tuple[list[str], int, float]:
    """Kinds of the records around so much white space, the most bytes held at a time, and the CPU seconds."""

    def chunks() -> Iterator[bytes]:
        yield first
        for _ in range(16 * mebibytes):
            yield unit * (MIB // 16)
        yield last

    started, held, kinds = time.process_time(), 0, []
    cutter = Cutter(chunks(), lambda _window, _is_array: None, MIB // 2, 100)
    for piece in cutter:
        held = max(held, len(cutter._text.data))
        kinds += {Whole: ["whole"], Broken: ["broken"], TooLarge: ["large"], CutOff: ["rest"]}[type(piece)]
    return kinds, held, time.process_time() - started


@pytest.mark.parametrize(("first", "unit", "last", "kinds"), MUCH_WHITE)
def test_however_much_white_space_there_is_it_is_passed_once_and_not_held(
    first: bytes, unit: bytes, last: bytes, kinds: list[str]
) -> None:
    little = min(cut_much_white(first, unit, last, 8)[2] for _ in range(3))
    for found, held, seconds in (cut_much_white(first, unit, last, 32) for _ in range(3)):
        assert found == kinds
        assert held < 4 * MIB
        if seconds <= 6 * little + 0.01:  # four times the text; its square would take sixteen times as long
            return
    pytest.fail(f"8 MiB take {little:.3f} CPU seconds, 32 MiB {seconds:.3f}")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b'{\n  "a":1\n  } x\n  {"a":2}\n', [("broken", b'{\n  "a":1\n  } x'), ("whole", b'{"a":2}')]),
        (b'[:\n  1] x\n  {"a":1}\n', [("broken", b":\n  1"), ("broken", b"x"), ("whole", b'{"a":1}')]),
        (b'nul\n]\n{"a":2}', [("broken", b"nul\n]"), ("whole", b'{"a":2}')]),
        (b"{tru", [("broken", b"{tru")]),
        (b'{"a":1 tru', [("broken", b'{"a":1 tru')]),
        (b'{"a":tru', [("rest", b'{"a":tru')]),
        (b'[{"a":"x"y, "b":[}, {"a":1}]', [("broken", b'{"a":"x"y, "b":[}'), ("whole", b'{"a":1}')]),
        (b'[{"a":1},x', [("whole", b'{"a":1}'), ("broken", b"x")]),
        (b"[1] xyz", [("whole", b"1"), ("broken", b"xyz")]),
        (b"01", [("whole", b"0"), ("whole", b"1")]),
        (b"1 truee", [("whole", b"1"), ("broken", b"truee")]),
        (b"1.e", [("broken", b"1.e")]),
        (b"1.", [("rest", b"1.")]),
        (b"[,", [("broken", b""), ("rest", b"")]),
    ],
)
def test_corners_of_the_rules(text: bytes, wanted: list[tuple[str, bytes]]) -> None:
    for chunk in (1, 3, 1_000):
        assert cut(text, chunk=chunk) == wanted


@pytest.mark.parametrize("beside", [b"", b"rubbish\n"])
def test_what_is_nested_too_deep_is_cut_the_same_beside_anything(beside: bytes) -> None:
    deep = b'{"x":' + b"[" * 150 + b"]" * 150 + b"}"
    assert [text for _, text in cut(deep + b'\n{"a":1}\n' + beside)][:2] == [deep, b'{"a":1}']
    assert cut(deep + b'\n  {"a":1}\n' + beside)[0] == ("broken", deep + b'\n  {"a":1}')
    assert cut(b"[" + deep + b',{"a":1}]')[:2] == [("broken", deep), ("whole", b'{"a":1}')]


def test_arrays_of_anything_are_cut_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are offered once for each stretch of text, not once for each element."""
    offered = 0

    def counting(self: Cutter) -> Iterator[int]:
        nonlocal offered
        offered += 1
        yield from element_ends(self)

    element_ends = Cutter._element_ends
    monkeypatch.setattr(Cutter, "_element_ends", counting)
    for text in (b"[" + b"1," * 5_000 + b"1]", b"[" + b"1 2," * 5_000 + b"1]", b"[" + b'{"a":1}\n' * 5_000 + b"]"):
        offered = 0
        assert len(cut(text)) >= 5_000
        assert offered < 20
