"""Two readers of one page: the ledger and the judge see the same records in any bytes."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import PACKERS, USUAL, cut, judged, recounted, verdicts

from smelter.contracts import Contract, load_contract
from smelter.ledger import window as window_module
from smelter.ledger.recount import CountLimits, Recount, record_at, recount
from smelter.producer import Faults, Format, Plan, produce
from smelter.records import Judge, Source

CONTRACTS = Path(__file__).parents[2] / "include" / "contracts"
WILD = [
    b'{"a":1}', b'{"a":"x"}', b'{"a":{"b":[1,{"c":2}]}}', b"{", b"}", b"[", b"]", b",", b"\n", b"\n  ", b" ", b"{}",
    b'"b"', b":", b"1", b"-", b"1.", b"1e", b"2.5", b"tru", b"true", b"x", b"\xff", b'{"k":[1,', b"\xef\xbb\xbf",
    b"\r\n", b"[]", b",{}", b"\n{}", b"\t", b"\n    ", b"1,2", b'{"a":1},', b'{"a":1}\n', b'{"a":\n', b"[[", b"]]",
    b'"', b"\\", b'\\"', b"\\u12", b"\x01", b'"x,{}"', b"null", b"/*", b"'a'", b"NaN",
]  # fmt: skip
BEGINNINGS = st.sampled_from([b"", b"[", b"[{}\n", b'  {"a":1}\n', b"\xef\xbb\xbf", b"[\n"])
WILD_TEXTS = st.builds(bytes.__add__, BEGINNINGS, st.lists(st.sampled_from(WILD), max_size=28).map(b"".join))
EXAMPLES = 400


@given(WILD_TEXTS, st.sampled_from([1, 2, 3, 100]))
@settings(max_examples=EXAMPLES)
def test_any_text_has_the_same_records_for_both(text: bytes, max_depth: int) -> None:
    limits = CountLimits(max_depth=max_depth)
    assert cut(text, limits) == judged(text, limits).texts


@given(WILD_TEXTS, st.sampled_from([1, 2, 3, 100]))
@settings(max_examples=EXAMPLES)
def test_any_text_has_as_many_records_when_the_judge_accepts_them(text: bytes, max_depth: int) -> None:
    limits = CountLimits(max_depth=max_depth)
    assert len(cut(text, limits)) == len(verdicts(text, limits))


@given(WILD_TEXTS, st.sampled_from([1, 2, 100]), st.sampled_from([1, 5, 7, 12, 20, 30, 60]))
@settings(max_examples=EXAMPLES)
def test_any_text_has_the_same_records_for_both_when_few_bytes_are_allowed(
    text: bytes, max_depth: int, max_record_bytes: int
) -> None:
    limits = CountLimits(max_record_bytes, max_depth)
    assert cut(text, limits) == judged(text, limits).texts


@given(st.binary(max_size=80) | st.text(max_size=60).map(str.encode))
@settings(max_examples=EXAMPLES)
def test_any_bytes_have_the_same_records_for_both(folder: Path, data: bytes) -> None:
    check(folder, data)


@given(WILD_TEXTS, st.data())
@settings(max_examples=EXAMPLES)
def test_any_text_that_is_cut_at_the_cap_has_the_same_records_for_both(
    folder: Path, text: bytes, data: st.DataObject
) -> None:
    cap = data.draw(st.integers(0, len(text)))
    check(folder, text, CountLimits(max_file_bytes=cap))


LINES = [
    b'{"a":1}\n',
    b'{"a":"xyz"}\n',
    b"rubbish\n",
    b'[{"a":1}, {"a":2}]\n',
    b'{"a":\n',
    b'  {"b":[1,2]}\n',
    b"[1 2]",
]
PARTS = st.lists(st.lists(st.sampled_from(LINES), max_size=12).map(b"".join), min_size=1, max_size=3)


@pytest.mark.parametrize("packer", ["gz", "zst"])
@given(PARTS, st.binary(max_size=3) | st.just(b"\x00" * 5), st.data())
@settings(max_examples=EXAMPLES // 4)
def test_any_packed_file_has_the_same_records_for_both_whole_cut_or_damaged(
    folder: Path, packer: str, parts: list[bytes], behind: bytes, data: st.DataObject
) -> None:
    packed = bytearray(b"".join(map(PACKERS[packer], parts)) + behind)
    check(folder, bytes(packed))
    place = data.draw(st.integers(0, len(packed) - 1))
    check(folder, bytes(packed[:place]))
    packed[place] ^= 1 << data.draw(st.integers(0, 7))
    check(folder, bytes(packed))


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"b":"\xc3\xbc\\"}"}\n{"a":[1,{"c":2}]}\r\n\n{"a":null}\n',
        b'[{"a":1.5e3,"b":"x,}{]"}, {"a":[true,{}]},\n 3, "x"]\n',
        b'[\n  {\n    "a": 1,\n    "b": [\n      {}\n    ]\n  },\n  {\n    "a": 2\n  }\n]\n',
        b'{\n  "a": 1\n}\n{\n  "a": {"b": 2}\n}\n',
        b'\xef\xbb\xbf{"a":1}{"a":2}[{"a":3}]12 "x"\n',
        b'{"a":NaN}\n{"a":1} x\n  rubbish\n}\n[{"a":1}},{"a":"x}, {"a":2} 3,]\n{"a":',
    ],
)
def test_a_file_that_is_cut_anywhere_has_the_same_records_for_both(folder: Path, text: bytes, packer: str) -> None:
    stored = PACKERS[packer](text)
    for end in range(len(stored) + 1):
        check(folder, stored[:end])


EVERY_FAULT = dict.fromkeys(
    (
        "invalid", "missing", "nulls", "wrong_type", "extra", "duplicate", "late", "out_of_order", "future", "garbage",
        "corrupt", "empty_file", "duplicate_file",
    ),
    0.1,
)  # fmt: skip


@pytest.mark.parametrize("packer", [*PACKERS, "gz by the producer"])
@pytest.mark.parametrize("form", list(Format))
@pytest.mark.parametrize("dataset", ["events", "taxi_trips"])
def test_what_the_producer_writes_has_the_same_records_for_both(
    tmp_path: Path, dataset: str, form: Format, packer: str
) -> None:
    contract = load_contract(CONTRACTS / f"{dataset}.yaml")
    is_packed = packer not in PACKERS
    faults = Faults(**EVERY_FAULT)
    plan = Plan(300, tmp_path, seed=11, format=form, gzip=is_packed, records_per_file=25, faults=faults)
    files = produce(contract, plan).files
    for path in files:
        if not is_packed:
            path.write_bytes(PACKERS[packer](path.read_bytes()))
        check_file(path, contract)
    assert len(files) > 10


def test_damage_among_many_blocks_has_one_place_for_both(folder: Path) -> None:
    records = [b'{"a":%d}\n' % (number * 7919) for number in range(400)]
    gz, zst = zlib.compressobj(wbits=31), zstandard.ZstdCompressor().compressobj()
    of_gz = [gz.compress(record) + gz.flush(zlib.Z_FULL_FLUSH) for record in records]
    of_zst = [zst.compress(record) + zst.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for record in records]
    for packed in (b"".join([*of_gz, gz.flush()]), b"".join([*of_zst, zst.flush()])):
        for place in range(5, len(packed), 211):
            check(folder, packed[:place] + bytes([packed[place] ^ 0x40]) + packed[place + 1 :])


TEXTS_THAT_ARRIVE = [
    b'  {"a":1}   {"a":\n    x\n   y\n',
    b'["\\u00e4", {"\\u12Ab": -1.5e+10}, false]',
    b'"xx\\u12Ab" {}\n  [1]  {\n   x',
]


def test_records_do_not_depend_on_how_the_text_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    texts = [b"[" * (i % 2) + b"".join(chance.choices(WILD, k=i % 30)) for i in range(EXAMPLES)]
    for text in TEXTS_THAT_ARRIVE + texts:
        limits = CountLimits(chance.choice([12, 30, 1 << 24]), chance.choice([2, 100]))
        at_once = cut(text, limits)
        with monkeypatch.context() as patch:
            patch.setattr(window_module, "_GROWTH_BYTES", 1)
            for at_a_time in (1, 2, 7):
                assert cut(text, limits, at_a_time=at_a_time) == at_once, (text, limits, at_a_time)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stored")


def check(folder: Path, stored: bytes, limits: CountLimits = USUAL) -> None:
    """Both count the same records and bytes, and read the same in the last records."""
    judge = judged(stored, limits)
    count = recounted(folder, stored, limits)
    assert count == judge.receipt, stored
    for position in range(max(0, count.records - 3), count.records):
        assert record_at(folder / "source", position, limits) == judge.texts[position], stored


def check_file(path: Path, contract: Contract) -> None:
    judgement = Judge(contract).judge(Source.of_file(path))
    letters = [letter for part in judgement for letter in part.letters]
    receipt = judgement.receipt
    assert recount(path, USUAL) == Recount(receipt.records, receipt.bytes, receipt.digest)
    for letter in letters:
        raw = letter.raw.encode() if letter.raw_bytes is None else letter.raw_bytes
        assert record_at(path, letter.position, USUAL) == raw
