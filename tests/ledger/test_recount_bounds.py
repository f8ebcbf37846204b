"""Memory stays bounded and the work grows with the text, not with its square, whatever the text is."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from readings import cut, recounted

from smelter.ledger import grammar
from smelter.ledger.cutting import Cutting
from smelter.ledger.recount import CountLimits

MIB = 1024 * 1024
SMALL = CountLimits(max_record_bytes=MIB)
RECORD = b'{"a":"' + b"x" * 2_000 + b'"}'


def counted_in_little_memory(first: bytes, unit: bytes, last: bytes) -> int:
    """Count 24 MiB of text that is never there as a whole; much less than that may be held at a time."""

    def pieces() -> Iterator[bytes]:
        yield first
        for _ in range(24):
            yield unit * (MIB // len(unit))
        yield last

    tracemalloc.start()
    try:
        count = sum(len(run.places) for run in Cutting(pieces(), SMALL))
        assert tracemalloc.get_traced_memory()[1] < 10 * MIB
    finally:
        tracemalloc.stop()
    return count


@pytest.mark.parametrize(
    ("first", "unit", "last", "count"),
    [
        (b"", RECORD + b"\n", b"", 24 * (MIB // (len(RECORD) + 1))),
        (b"[", RECORD + b",", b"1]", 24 * (MIB // (len(RECORD) + 1)) + 1),
        (b'{"a":1}', b" ", b"x\n2", 2),
        (b"[1", b" \n", b"x,2]", 2),
        (b"rubbish\n", b" \n", b"2", 2),
        (b"rubbish\n", b"  %s\n" % RECORD, b"2", 2),
        (b'{"a":"', b"x", b'"}\n2', 2),
        (b'["', b"x", b'",2]', 2),
        (b"[x}", b"\n", b"x,{}]", 2),
        (b"", b"\n", b"", 0),
    ],
)
def test_a_text_of_any_kind_takes_little_memory(first: bytes, unit: bytes, last: bytes, count: int) -> None:
    assert counted_in_little_memory(first, unit, last) == count


def test_a_bomb_is_one_letter_and_never_expanded(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    gz = b"".join(packer.compress(b"\x00" * MIB) for _ in range(64)) + packer.flush()
    zst = zstandard.ZstdCompressor(level=19).compress(b"\x00" * 64 * MIB)
    for bomb in (gz * 16, zst * 16):
        tracemalloc.start()
        try:
            assert recounted(tmp_path, bomb).records == 1
            assert tracemalloc.get_traced_memory()[1] < 64 * MIB
        finally:
            tracemalloc.stop()


def steps_taken(text: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many tokens were looked at while the text was cut."""
    count = 0
    step = grammar._step

    def counting(byte: int, due: int, closers: bytearray) -> int | None:
        nonlocal count
        count += 1
        return step(byte, due, closers)

    with monkeypatch.context() as patch:
        patch.setattr(grammar, "_step", counting)
        assert cut(text)
    return count


@pytest.mark.parametrize(
    "unit",
    [
        b'{"a":\n', b'[{"a":x[,{},', b'[{"a":[1,', b"[", b'{"a":[1,\n', b'[x},{"a":"', b',{"', b'"', b"1 ", b"[1,",
        b',{"a":1', b',{":1,x', b'[x["', b"{x}\n", b'[{"a":"\n',
    ],
)  # fmt: skip
@pytest.mark.parametrize("first", [b"", b"[x}"])
def test_the_work_for_hostile_texts_grows_with_the_text_not_with_its_square(
    first: bytes, unit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = steps_taken(first + unit * 500, monkeypatch)
    assert steps_taken(first + unit * 1000, monkeypatch) <= 2.5 * once + 1000
