"""How many records do sources hold, how many are good, and why are the others not?"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from smelter.contracts.finished import is_finished
from smelter.records.cut import Cutter
from smelter.records.judge import Judge
from smelter.records.letters import DeadLetter
from smelter.records.pieces import Whole
from smelter.records.source import Limits, Reading, Source

_MOST_PLACES = 10_000  # hostile records have any number of field names
_INDEX = re.compile(r"\[\d+\]")


@dataclass
class Survey:
    """Totals over sources; `records = accepted + dead`."""

    files: int = 0
    records: int = 0
    accepted: int = 0
    dead: int = 0
    bytes: int = 0
    by_reason: Counter[str] = field(default_factory=Counter)
    by_field: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # problem, field, rule

    def add(self, letter: DeadLetter) -> None:
        """Count a letter by its reason, and once for each field and rule with a problem."""
        self.by_reason[letter.reason.value] += 1
        places = dict.fromkeys((e.reason.value, _any_element(e.field), e.rule) for e in letter.errors)
        for place in places:
            if place in self.by_field or len(self.by_field) < _MOST_PLACES:
                self.by_field[place] += 1


def _any_element(field: str) -> str:
    return _INDEX.sub("[]", field) if "[" in field else field


def survey(
    judge: Judge,
    sources: Iterable[Source],
    on_letter: Callable[[DeadLetter], None],
    on_progress: Callable[[Survey], None] = lambda _: None,
) -> Survey:
    """Judge every source and keep only the totals; letters are handed on as they come."""
    total = Survey()
    for source in sources:
        judgement = judge.judge(source)
        for part in judgement:
            total.accepted += part.rows.num_rows
            total.dead += len(part.letters)
            total.records = total.accepted + total.dead
            for letter in part.letters:
                total.add(letter)
                on_letter(letter)
            on_progress(total)
        total.files += 1
        total.bytes += judgement.receipt.bytes
    return total


def whole_texts(source: Source, limits: Limits) -> Iterator[bytes]:
    """The text of every well-formed record of a source, judged by nothing else."""
    chunks = iter(Reading(source, limits))
    for piece in Cutter(chunks, lambda _window, _is_array: None, limits.max_record_bytes, limits.max_depth):
        if isinstance(piece, Whole):
            yield from piece.texts


def files_under(path: Path) -> Iterator[Path]:
    """The file itself, or every finished file of a folder and its subfolders, in the order of their names."""
    if not path.is_dir():
        yield path
        return
    for folder, subfolders, names in os.walk(path):
        subfolders[:] = sorted(name for name in subfolders if is_finished(name))
        for name in sorted(names):
            path = Path(folder, name)
            if is_finished(name) and (path.is_file() or not path.exists()):  # a pipe is no file, a broken link is one
                yield path
