"""One text read twice: by the ledger's reader, and by the judge through his front door."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import zstandard

from smelter.contracts import parse_contract
from smelter.ledger.cutting import Cutting
from smelter.ledger.recount import CountLimits, Recount, recount
from smelter.records import Judge, Limits, Source

PAGE = Path(__file__).parents[2] / "docs" / "records.md"
USUAL = CountLimits()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": lambda text: gzip.compress(text, mtime=0),
    "zst": zstandard.ZstdCompressor().compress,
}


def cut(text: bytes, limits: CountLimits = USUAL, *, at_a_time: int = 1 << 20) -> list[bytes]:
    """The text of every record, as the ledger's reader cuts it; pieces of the text arrive so many bytes at a time."""
    pieces = (text[at : at + at_a_time] for at in range(0, len(text), at_a_time))
    return [run.piece[start:end] for run in Cutting(pieces, limits) for start, end in run.places]


def recounted(folder: Path, stored: bytes, limits: CountLimits = USUAL) -> Recount:
    """Count these bytes as a file."""
    path = folder / "source"
    path.write_bytes(stored)
    return recount(path, limits)


@dataclass(frozen=True)
class Judged:
    """The judge's receipt in the ledger's words, and the text of every record."""

    receipt: Recount
    texts: list[bytes]


def judged(stored: bytes, limits: CountLimits = USUAL) -> Judged:
    """What the judge says of these bytes under a contract that no record keeps: so each is a letter with its text."""
    source = Source("memory", len(stored), datetime(2026, 1, 1, tzinfo=UTC), lambda: io.BytesIO(stored))
    judgement = _judge("required: true", limits).judge(source)
    letters = [letter for part in judgement for letter in part.letters]
    texts = [letter.raw.encode() if letter.raw_bytes is None else letter.raw_bytes for letter in letters]
    receipt = judgement.receipt
    assert [letter.position for letter in letters] == list(range(receipt.records))
    return Judged(Recount(receipt.records, receipt.bytes, receipt.digest), texts)


def verdicts(stored: bytes, limits: CountLimits = USUAL) -> list[tuple[str, bytes]]:
    """Why each record is dead, and its text; under a contract that takes any object, so that windows are read whole.

    A record that the judge takes is `accepted`, and has no text any more.
    """
    source = Source("memory", len(stored), datetime(2026, 1, 1, tzinfo=UTC), lambda: io.BytesIO(stored))
    judgement = _judge("", limits).judge(source)
    found: dict[int, tuple[str, bytes]] = {}
    for part in judgement:
        found |= dict.fromkeys(part.rows["_position"].to_pylist(), ("accepted", b""))
        for letter in part.letters:
            text = letter.raw.encode() if letter.raw_bytes is None else letter.raw_bytes
            found[letter.position] = (letter.reason.value, text)
    assert sorted(found) == list(range(judgement.receipt.records))
    return [found[position] for position in range(len(found))]


@cache
def _judge(rule: str, limits: CountLimits) -> Judge:
    lines = ["dataset: sample", "version: 1", "unknown_fields: ignore", "source: {files: landing/sample}"]
    lines += ["fields:", f"  never_there: {{type: long, {rule}}}"]
    return Judge(parse_contract("\n".join(lines), "sample.yaml"), Limits(*astuple(limits)))
