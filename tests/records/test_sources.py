"""Whatever the file: plain, gz, zst, cut, packed to burst; memory stays bounded and nothing is raised."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import ARRIVED, GOOD, judge_of, judged

from smelter.records import Judge, Limits, Source, files_under

PACKERS = {"gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}
TEN = b"\n".join([GOOD] * 10) + b"\n"


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_file_is_found_by_its_bytes(judge: Judge, packer: str) -> None:
    packed = PACKERS[packer](TEN)
    for at_a_time in (0, 1, 7):
        found = judged(judge, packed, at_a_time=at_a_time)
        assert (len(found.rows), found.letters) == (10, [])
        assert found.receipt.bytes == len(packed)


@pytest.mark.parametrize("packer", PACKERS)
def test_packed_parts_may_follow_one_another(judge: Judge, packer: str) -> None:
    two = PACKERS[packer](TEN) + PACKERS[packer](b"") + PACKERS[packer](TEN)
    assert judged(judge, two).receipt.accepted == 20


@pytest.mark.parametrize("packer", PACKERS)
def test_half_a_packed_file_gives_what_is_whole_and_one_letter(judge: Judge, packer: str) -> None:
    records = [GOOD.replace(b"u1", b"user-%06d" % (i * 7919 % 10**6)) for i in range(5_000)]
    packed = PACKERS[packer](b"\n".join(records))
    found = judged(judge, packed[: len(packed) // 2])
    assert found.reasons == ["file_unreadable"]
    assert found.receipt.records == found.receipt.accepted + 1
    assert [row["user_id"] for row in found.rows] == [json.loads(r)["user_id"] for r in records[: len(found.rows)]]
    assert found.letters[0].position == len(found.rows)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_file_cut_anywhere_or_with_one_bit_wrong_raises_nothing(judge: Judge, packer: str) -> None:
    packed = PACKERS[packer](TEN)
    for offset in range(len(packed)):
        found = judged(judge, packed[:offset])
        assert len([r for r in found.reasons if r == "file_unreadable"]) <= 1
        assert found.receipt.records == found.receipt.accepted + found.receipt.dead
        broken = bytearray(packed)
        broken[offset] ^= 0x10
        judged(judge, bytes(broken))


def test_padding_after_gzip_is_nothing_and_rubbish_is_a_letter(judge: Judge) -> None:
    assert judged(judge, gzip.compress(TEN) + b"\x00" * 600).letters == []
    found = judged(judge, gzip.compress(TEN) + b"rubbish")
    assert (len(found.rows), found.reasons) == (10, ["file_unreadable"])


def zeros(mebibytes: int) -> bytes:
    """A gzip file of zero bytes that was made without holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"\x00" * 1024 * 1024
    return b"".join(packer.compress(block) for _ in range(mebibytes)) + packer.flush()


def test_a_bomb_is_one_letter_and_never_expanded(tmp_path: Path) -> None:
    """A process that may use little memory judges bombs of 1 GiB; expanding them would end it."""
    (tmp_path / "bomb.gz").write_bytes(zeros(64) * 16)
    frame = zstandard.ZstdCompressor(level=19).compress(b"\x00" * 64 * 1024 * 1024)
    (tmp_path / "bomb.zst").write_bytes(frame * 16)
    program = """
import resource, sys
from pathlib import Path
from smelter.contracts import load_contract
from smelter.records import Judge, Source
judge = Judge(load_contract(Path(sys.argv[1])))
for name in sys.argv[2:]:
    judgement = judge.judge(Source.of_file(Path(name)))
    letters = [letter for part in judgement for letter in part.letters]
    print([letter.reason.value for letter in letters], judgement.receipt.records)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""
    contract = Path(__file__).parents[2] / "include" / "contracts" / "events.yaml"
    files = [str(tmp_path / "bomb.gz"), str(tmp_path / "bomb.zst")]
    done = subprocess.run([sys.executable, "-c", program, contract, *files], capture_output=True, text=True, check=True)
    first, second, peak = done.stdout.splitlines()
    assert first == second == "['file_too_large'] 1"
    assert int(peak) < 300


def test_a_file_beyond_the_cap_gives_what_is_whole_and_one_letter() -> None:
    judge = judge_of("a: {type: long}", limits=Limits(max_file_bytes=1_024))
    text = b"\n".join(b'{"a":%d}' % i for i in range(1_000))
    for data in (text, gzip.compress(text)):
        found = judged(judge, data)
        assert found.reasons == ["file_too_large"]
        whole = text[:1_024].count(b"}")
        assert [row["a"] for row in found.rows] == list(range(whole))
        assert found.letters[0].raw == text[:1_024].rpartition(b"\n")[2].decode()


def test_what_is_broken_up_to_the_end_of_a_cut_file_is_part_of_its_one_letter() -> None:
    judge = judge_of("a: {type: long}", limits=Limits(max_file_bytes=1_024))
    found = judged(judge, b'{"a":1}\nrubbish\n' + b"x" * 2_000)
    assert found.reasons == ["not_json", "file_too_large"]
    assert found.letters[1].raw == "x" * (1_024 - 16)


@pytest.mark.parametrize("empty", [b"", b"[]", b"\n\n  \r\n", b"\xef\xbb\xbf", b" [ ] \n", b"[][]"])
def test_nothing_is_no_record_and_no_letter_but_has_a_receipt(judge: Judge, empty: bytes) -> None:
    found = judged(judge, empty)
    assert (found.rows, found.letters) == ([], [])
    assert (found.receipt.records, found.receipt.bytes, len(found.receipt.digest)) == (0, len(empty), 64)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + TEN,
        TEN.replace(b"\n", b"\r\n"),
        TEN.rstrip(),
        b"\n\n".join([GOOD] * 10),
        b"[" + b",".join([GOOD] * 10) + b"]\n",
        json.dumps([json.loads(GOOD)] * 10, indent=4).encode(),
        b"\n".join(json.dumps(json.loads(GOOD), indent="\t").encode() for _ in range(10)),
        GOOD * 10,
        b"[" + GOOD + b"]" + b"[" + b",".join([GOOD] * 9) + b"]",
    ],
)
def test_every_way_to_write_ten_records_gives_ten(judge: Judge, text: bytes) -> None:
    for at_a_time in (0, 11):
        found = judged(judge, text, at_a_time=at_a_time)
        assert found.letters == []
        assert [row["_position"] for row in found.rows] == list(range(10))


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
@settings(max_examples=400)
def test_any_bytes_give_verdicts_and_no_exception(data: bytes) -> None:
    check_invariants(data)


@given(
    st.lists(st.sampled_from([GOOD, GOOD[:50], b"[", b"]", b",", b"\n", b"{", b"}", b'"', b"\\", b"\x1f\x8b", b"\xff"]))
)
@settings(max_examples=400)
def test_any_mixture_of_good_and_broken_parts_gives_verdicts_and_no_exception(parts: list[bytes]) -> None:
    check_invariants(b"".join(parts))


EVENTS = judge_of("user_id: {type: string, required: true}\nproperties: {type: 'map<string,string>'}", "ignore")


def check_invariants(data: bytes) -> None:
    found = judged(EVENTS, data)
    receipt = found.receipt
    assert receipt.records == receipt.accepted + receipt.dead == len(found.rows) + len(found.letters)
    assert found.positions == list(range(receipt.records))
    assert [letter.position for letter in found.letters] == sorted(letter.position for letter in found.letters)


def test_a_source_that_cannot_be_opened_or_fails_in_mid_read_is_one_letter(judge: Judge, tmp_path: Path) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 0:
                raise OSError(5, "Input/output error")
            return super().read(len(GOOD) + 10)

    def refuse() -> io.BytesIO:
        raise PermissionError(13, "Permission denied")

    cases = [(lambda: Failing(TEN), 1), (refuse, 0), ((tmp_path / "gone").open, 0), (lambda: tmp_path.open("rb"), 0)]
    for opener, accepted in cases:
        judgement = judge.judge(Source("broken", 1_000, ARRIVED, opener))  # type: ignore[arg-type]
        letters = [letter for part in judgement for letter in part.letters]
        assert [letter.reason.value for letter in letters] == ["file_unreadable"]
        assert judgement.receipt.accepted == accepted


def test_the_receipt_exists_only_after_the_last_part(judge: Judge) -> None:
    judgement = judge.judge(Source("x", 10, ARRIVED, lambda: io.BytesIO(TEN)))
    with pytest.raises(RuntimeError):
        _ = judgement.receipt
    list(judgement)
    assert judgement.receipt.records == 10


def test_a_file_arrived_when_it_was_last_modified(tmp_path: Path) -> None:
    import os

    path = tmp_path / "a.json"
    path.write_bytes(b"[]")
    os.utime(path, ns=(0, 1_767_225_600_123_456_789))
    assert Source.of_file(path).arrived_at == datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)


def test_unfinished_names_are_passed_over(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "sub/c", ".hidden", "_temporary", "d.tmp", "e.part", "_sub/f.json", "x?*[1].json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"[]")
    found = [str(path.relative_to(tmp_path)) for path in files_under(tmp_path)]
    assert found == ["a.json", "b.json", "x?*[1].json", "sub/c"]


def test_a_damaged_gzip_gives_all_that_came_before_the_damage_however_it_is_read() -> None:
    judge = judge_of("a: {type: long}")
    text = b"".join(b'{"a":%d}\n' % i for i in range(3_000))
    bad_checksum = bytearray(gzip.compress(text, 0))
    bad_checksum[-5] ^= 1
    in_the_middle = bytearray(gzip.compress(text, 9))
    in_the_middle[len(in_the_middle) * 3 // 4] ^= 0x40
    for packed in (bytes(bad_checksum), bytes(in_the_middle)):
        found = [judged(judge, packed, at_a_time=size) for size in (0, 10, 1_000)]
        assert len({(verdicts.receipt.accepted, verdicts.letters[-1].raw) for verdicts in found}) == 1
        assert found[0].reasons[-1] == "file_unreadable"
        assert found[0].receipt.accepted > 1_000
    assert judged(judge, bytes(bad_checksum)).receipt.accepted == 3_000


def test_a_damaged_zstd_ends_at_the_same_place_however_it_is_read() -> None:
    judge = judge_of("a: {type: long}")
    packed = bytearray(zstandard.ZstdCompressor().compress(b"".join(b'{"a":%d}\n' % (i * 7919) for i in range(60_000))))
    packed[len(packed) * 3 // 4] ^= 0x40
    found = {judged(judge, bytes(packed), at_a_time=size).receipt.records for size in (0, 100, 1_000)}
    assert len(found) == 1


def test_tiny_bad_records_take_no_more_memory_than_others(judge: Judge) -> None:
    parts = list(judge.judge(Source("x", 1, ARRIVED, lambda: io.BytesIO(b"{}\n" * 50_000))))
    assert max(len(part.letters) for part in parts) < 10_000
    assert sum(len(part.letters) for part in parts) == 50_000
