"""Corners where the two cutters once parted, each with what docs/records.md says; and many random texts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from readings import PAGE, cut, verdicts

from smelter.contracts import parse_contract
from smelter.ledger import documents as counted_documents
from smelter.ledger import elements as counted_elements
from smelter.ledger import window as counted_window
from smelter.ledger.cutting import Cutting
from smelter.ledger.expansion import TextCutShort
from smelter.ledger.recount import CountLimits
from smelter.records import Limits, elements, pieces, text
from smelter.records.cut import Cutter
from smelter.records.pieces import Broken, CutOff, Decoded, TooLarge, is_whole, whole_records
from smelter.records.sorting import Sorter

KIB = 1024
FAR = b" " * 64 * KIB
FIVE = CountLimits(max_record_bytes=5)
Decode = Callable[[bytes, bool], list[Any] | None]
Kinds = list[tuple[str, bytes]]

CORNERS: list[tuple[bytes, CountLimits, Kinds]] = [
    (b'[{"a":[1]},2]', CountLimits(max_depth=1), [("record_too_large", b'{"a":[1]},2]')]),
    (
        b'{"a":[1]}\n  2\n3',
        CountLimits(max_depth=1),
        [("record_too_large", b'{"a":[1]}\n  2'), ("not_an_object", b"3")],
    ),
    (b"1 truee", CountLimits(), [("not_an_object", b"1"), ("not_json", b"truee")]),
    (b"1.e", CountLimits(), [("not_json", b"1.e")]),  # broken, so nothing is open at the end
    (b"1.e\n  2", CountLimits(), [("not_json", b"1.e\n  2")]),
    (b"[,x", CountLimits(max_file_bytes=2), [("not_json", b""), ("file_too_large", b"")]),
    (b'["xxxxx\\\n,2]', FIVE, [("record_too_large", b'"xxxxx\\'), ("not_an_object", b"2")]),
    (b'["xxxxx\n ]x\n y', FIVE, [("record_too_large", b'"xxxxx'), ("not_json", b"x"), ("not_json", b"y")]),
    (b"[1" + FAR + b"x,2]", CountLimits(), [("not_json", b"1" + FAR + b"x"), ("not_an_object", b"2")]),
    (b'["' + FAR + b'\x01",2]', CountLimits(), [("not_json", b'"' + FAR + b'\x01"'), ("not_an_object", b"2")]),
    (b"5 12.51.", FIVE, [("record_too_large", b"5 12.51.")]),
    (b"5 12.51", FIVE, [("not_an_object", b"5"), ("not_an_object", b"12.51")]),
    (b"5 12.512", FIVE, [("record_too_large", b"5 12.512")]),
    (b"[x},1,22222,3]", FIVE, [("not_json", b"x}"), *[("not_an_object", n) for n in (b"1", b"22222", b"3")]]),
    (b"[{x,    {}]", FIVE, [("not_json", b"{x"), ("accepted", b"")]),
    (b"[{x,     {}]", FIVE, [("record_too_large", b"{x,     {}]")]),  # the object begins too far behind the comma
    (b"x        \n{}", FIVE, [("not_json", b"x"), ("accepted", b"")]),  # white space at its end makes nothing long
    (b'[",{}" "x",2]', FIVE, [("record_too_large", b'",{}" "x"'), ("not_an_object", b"2")]),
    (b'[",{}"    "x"y]', CountLimits(max_record_bytes=8), [("record_too_large", b'",{}"    "x"y')]),
    (b'[",{}"    "x"y]', CountLimits(max_record_bytes=9), [("not_json", b'"'), ("record_too_large", b'{}"    "x"y]')]),
    (b"{}", CountLimits(max_record_bytes=1), [("record_too_large", b"{}")]),
]


@pytest.mark.parametrize(("stored", "limits", "wanted"), CORNERS)
def test_a_corner_is_cut_by_both_as_the_page_says(stored: bytes, limits: CountLimits, wanted: Kinds) -> None:
    assert verdicts(stored, limits) == wanted
    seen = stored[: limits.max_file_bytes]
    counted = counted_records(seen, limits, len(seen), is_cut_short=len(seen) < len(stored))
    assert len(counted) == len(wanted)
    for record, (reason, whole) in zip(counted, wanted, strict=True):
        assert reason == "accepted" or record == whole[: 64 * KIB].rstrip()


def examples_within_limits() -> list[tuple[bytes, CountLimits, list[bytes], bytes | None]]:
    """Rows of the page's table whose first column is a limit: text, limits, records, and the rest if there is one."""
    rows = []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| `max_") and ": " in line:
            limit, shown, records, rest = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            name, value = limit.strip("`").split(": ")
            limits = CountLimits(**{name: int(value)})
            found = [_bytes(record) for record in records.split(" · ")]
            rows.append((_bytes(shown), limits, found, None if rest == "none" else b""))
    return rows


def _bytes(shown: str) -> bytes:
    return shown.removeprefix("✗").strip("`").replace("⏎", "\n").encode()


@pytest.mark.parametrize(("stored", "limits", "records", "rest"), examples_within_limits())
def test_every_example_with_a_limit_is_cut_by_both_as_the_page_says(
    stored: bytes, limits: CountLimits, records: list[bytes], rest: bytes | None
) -> None:
    wanted = records if rest is None else [*records, rest]
    seen = stored[: limits.max_file_bytes]
    assert [record for _, record in verdicts(stored, limits)] == wanted
    assert counted_records(seen, limits, 1, is_cut_short=rest is not None) == wanted


def test_the_page_has_its_examples_with_limits() -> None:
    assert len(examples_within_limits()) >= 7


def test_brackets_are_counted_by_both_up_to_64_kib_beyond_the_byte_that_breaks_an_element() -> None:
    for before in (b"", b"x" * 70 * KIB):
        broken = b'{"a":"' + before + b'\x01","b":[1,{"c":1}]}'
        assert [len(record) for _, record in verdicts(b"[" + broken + b",2]")] == [len(broken), 1]
    for beyond, count in ((64 * KIB - 1, 3), (64 * KIB, 2)):
        stored = b"[" + b"x" * beyond + b',2,{"a":3}]'
        assert len(verdicts(stored)) == len(cut(stored)) == count


FRAGMENTS = {
    "any": [
        b'{"a":1}', b'{"a":"x"}', b'{"a":{"b":[1,{"c":2}]}}', b"{", b"}", b"[", b"]", b",", b"\n", b"\n  ", b" ", b"{}",
        b'"b"', b":", b"1", b"-", b"1.", b"1e", b"tru", b"true", b"x", b"\xff", b'{"k":[1,', b"\xef\xbb\xbf", b"\r\n",
        b",{}", b"\n{}", b"\t", b'{"a":\n', b"[[", b"]]", b'"', b"\\", b'\\"', b"\\u12", b"\x01", b'"x,{}"', b"e", b".",
        b"E+", b"\\\n", b'"xxxxxx', b"\n ", b"12.51",
    ],
    "bytes": [b"%c" % byte for byte in b'{}[]",:\\ \n\t\r1e.-x"t\n",'] + [b"true", b"{}"],
    "good": [
        b'{"a":1}', b'{"b":[1]}', b'{"n":1}', b'{"a":{"b":[{}]}}', b",", b"\n", b'{"a":1},', b'{"n":2}\n', b"\n ", b"]",
        b"2", b'{"a":[[1]]}', b"[", b" ", b"[{", b'{"b":[{"x":{"y":1}}]}', b",\n",
    ],
}  # fmt: skip
BEGINNINGS = [b"", b"[", b"[{}\n", b'  {"a":1}\n', b"\xef\xbb\xbf", b" [\n  "]
TEXTS = 600


@pytest.mark.parametrize("shape", FRAGMENTS)
def test_random_texts_are_cut_alike_by_both_however_they_arrive(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(shape)
    for _ in range(TEXTS):
        stored = chance.choice(BEGINNINGS) + b"".join(chance.choices(FRAGMENTS[shape], k=chance.randrange(1, 30)))
        is_cut_short = chance.random() < 0.3
        limits = CountLimits(chance.choice([1, 2, 5, 7, 12, 20, 30, 60, 1 << 24]), chance.choice([1, 2, 3, 100]))
        kept = chance.choice([64 * KIB, 3, 9])
        sight = chance.choice([64 * KIB, 1, 3, 8])
        at_a_time = chance.choice([1, 2, 3, 7])
        with monkeypatch.context() as patch:
            move_bounds(patch, kept, sight)
            wanted = counted_records(stored, limits, len(stored), is_cut_short=is_cut_short)
            found = judged_records(stored, limits, len(stored), SORTERS[limits.max_depth], is_cut_short=is_cut_short)
            assert [record[:kept].rstrip() for _, record in found] == wanted, (stored, limits)
            patch.setattr(text, "WINDOW_BYTES", chance.choice([1, 7, 20]))
            patch.setattr(counted_window, "_GROWTH_BYTES", 1)
            how = (stored, limits, at_a_time, kept, sight)
            assert counted_records(stored, limits, at_a_time, is_cut_short=is_cut_short) == wanted, how
            for decode in (lambda _window, _is_array: None, SORTERS[limits.max_depth]):
                again = judged_records(stored, limits, at_a_time, decode, is_cut_short=is_cut_short)
                assert again == found, how
            if kept > 1000:
                for kind, record in found:
                    assert kind == "rest" or (kind == "large") == (len(record) > limits.max_record_bytes), how


def move_bounds(patch: pytest.MonkeyPatch, kept: int, sight: int) -> None:
    """What is 64 KiB elsewhere is small here, so that small texts reach it."""
    for module in (pieces, text, counted_window, counted_documents, counted_elements):
        patch.setattr(module, "KEPT_BYTES", kept)
    patch.setattr(elements, "LOOK_AHEAD_BYTES", sight)
    patch.setattr(counted_elements, "_SIGHT_BYTES", sight)


def counted_records(stored: bytes, limits: CountLimits, at_a_time: int, *, is_cut_short: bool) -> list[bytes]:
    """The beginning of every record, as the ledger cuts it; the file may be to blame for the end."""

    def arriving() -> Iterator[bytes]:
        yield from in_pieces(stored, at_a_time)
        if is_cut_short:
            raise TextCutShort

    found = [run.piece[start:end] for run in Cutting(arriving(), limits) for start, end in run.places]
    return [record[: counted_window.KEPT_BYTES].rstrip() for record in found]


def in_pieces(stored: bytes, at_a_time: int) -> Iterator[bytes]:
    return (stored[at : at + at_a_time] for at in range(0, len(stored), at_a_time or 1))


def judged_records(stored: bytes, limits: CountLimits, at_a_time: int, decode: Decode, *, is_cut_short: bool) -> Kinds:
    """Kind and text of every record, as the judge cuts it."""
    found: Kinds = []
    rest = b"" if is_cut_short else None
    for piece in Cutter(in_pieces(stored, at_a_time), decode, limits.max_record_bytes, limits.max_depth):
        if isinstance(piece, CutOff):
            rest = piece.tail
        elif not isinstance(piece, Broken | TooLarge):
            texts = whole_records(piece.window, piece.is_array, 500) if isinstance(piece, Decoded) else piece.texts
            assert texts is not None
            found += [("whole" if is_whole(one, limits.max_depth) else "broken", one) for one in texts]
        elif piece.at_end and is_cut_short:
            rest = piece.text
        else:
            found.append(("broken" if isinstance(piece, Broken) else "large", piece.text))
    return found if rest is None else [*found, ("rest", rest)]


def decoder_within(max_depth: int) -> Decode:
    """How windows are read under a contract that ignores what it does not know."""
    lines = ["dataset: sample", "version: 1", "unknown_fields: ignore", "source: {files: landing/sample}"]
    contract = parse_contract("\n".join([*lines, "fields:", "  n: {type: long}"]), "sample.yaml")
    return Sorter(contract, Limits(max_depth=max_depth)).decode_window


SORTERS = {max_depth: decoder_within(max_depth) for max_depth in (1, 2, 3, 100)}
