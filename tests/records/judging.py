"""Builders: contracts from a few words, sources from bytes, and what became of them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from smelter.contracts import Contract, parse_contract
from smelter.records import DeadLetter, Judge, Limits, Receipt, Source
from smelter.records.cut import Cutter
from smelter.records.pieces import Broken, CutOff, Decoded, TooLarge, Whole

CONTRACTS = Path(__file__).parents[2] / "include" / "contracts"
ARRIVED = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
GOOD = (
    b'{"user_id":"u1","event_id":"e1","event_timestamp":"2026-05-31T10:00:00Z",'
    b'"event_type":"purchase","properties":{"amount":1.10}}'
)


@dataclass(frozen=True)
class Verdicts:
    """Everything that the judge said about one source."""

    rows: list[dict[str, Any]]
    letters: list[DeadLetter]
    receipt: Receipt

    @property
    def reasons(self) -> list[str]:
        return [letter.reason.value for letter in self.letters]

    @property
    def positions(self) -> list[int]:
        return sorted([row["_position"] for row in self.rows] + [letter.position for letter in self.letters])


def contract_of(fields: str, unknown_fields: str = "dead_letter") -> Contract:
    """A contract from its field lines."""
    lines = "\n".join(f"  {line.strip()}" for line in fields.strip().splitlines())
    text = f"dataset: sample\nversion: 1\nfields:\n{lines}\nunknown_fields: {unknown_fields}\n"
    return parse_contract(text + "source: {files: landing/sample}\n", "sample.yaml")


def judge_of(fields: str, unknown_fields: str = "dead_letter", limits: Limits | None = None) -> Judge:
    """A judge for such a contract."""
    return Judge(contract_of(fields, unknown_fields), limits)


def source_of(data: bytes, *, at_a_time: int = 0) -> Source:
    """Bytes as a source; `at_a_time` makes the reader give out small pieces."""
    return Source("memory", len(data), ARRIVED, lambda: _Slow(data, at_a_time) if at_a_time else io.BytesIO(data))


class _Slow(io.BytesIO):
    def __init__(self, data: bytes, at_a_time: int) -> None:
        super().__init__(data)
        self._at_a_time = at_a_time

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self._at_a_time)


def judged(judge: Judge, data: bytes, *, at_a_time: int = 0) -> Verdicts:
    """Judge bytes to their end."""
    judgement = judge.judge(source_of(data, at_a_time=at_a_time))
    rows: list[dict[str, Any]] = []
    letters: list[DeadLetter] = []
    for part in judgement:
        part.rows.validate(full=True)
        rows += part.rows.to_pylist()
        letters += part.letters
    return Verdicts(rows, letters, judgement.receipt)


def cut(
    data: bytes, *, chunk: int = 1_000_000, max_record_bytes: int = 1 << 24, max_depth: int = 100
) -> list[tuple[str, bytes]]:
    """The pieces of a text, each with one letter: whole, broken, large, or the rest that was cut off."""

    def chunks() -> Iterator[bytes]:
        for at in range(0, len(data), chunk):
            yield data[at : at + chunk]

    found: list[tuple[str, bytes]] = []
    for piece in Cutter(chunks(), lambda _window, _is_array: None, max_record_bytes, max_depth):
        assert not isinstance(piece, Decoded)
        if isinstance(piece, Whole):
            found += [("whole", text) for text in piece.texts]
        elif isinstance(piece, Broken):
            found.append(("broken", piece.text))
        elif isinstance(piece, TooLarge):
            found.append(("large", piece.text))
        elif isinstance(piece, CutOff):
            found.append(("rest", piece.tail))
    return found
