"""What is sent, and what must become of it: known because it was made so, without asking the judge."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from smelter.contracts import Contract, parse_contract

NEW_FIELD = "extra"
_NOTES = ("plain", "", "größer als ≥ 7", 'with "quotes" and \\', "two\nlines", "🙂")


def contract_of(dataset: str, version: int = 1) -> Contract:
    """The contract of a round; its second version has one more field."""
    more = f"  {NEW_FIELD}: {{type: string}}\n" if version == 2 else ""
    text = (
        f"dataset: {dataset}\nversion: {version}\nfields:\n  id: {{type: long, required: true, min: 0}}\n"
        f"  note: {{type: string}}\n{more}source: {{files: landing/{dataset}}}\n"
    )
    return parse_contract(text, f"{dataset}.yaml")


def row(number: int, note: str | None, extra: str | None = None) -> str:
    """How an accepted record is written down here."""
    return f"row {number} {note!r} {extra!r}"


def letter(reason: str, raw: str = "") -> str:
    """How a dead letter is written down here."""
    return f"letter {reason} {raw}"


@dataclass(frozen=True)
class Item:
    """One record as it is sent, and what must become of it under the first contract and under the second."""

    text: str
    first: str
    second: str

    def under(self, version: int) -> str:
        """What must become of it under a version of the contract."""
        return self.second if version == 2 else self.first


@dataclass(frozen=True)
class Content:
    """The bytes of one file, and its records in their order."""

    data: bytes
    items: tuple[Item, ...]


class Mine:
    """Makes files whose every record is known; numbers are used once per round."""

    def __init__(self, chance: Random, numbers: Iterator[int] | None = None) -> None:
        self.chance = chance
        self.numbers = numbers or itertools.count(1)

    def file(self, good: int | None = None, bad: int | None = None, new: int = 0) -> Content:
        """A file of some good and bad records, mixed; `new` ones are good only under the second contract."""
        chance, form = self.chance, self.chance.choice(_FORMS)
        items = [self._good() for _ in range(chance.randrange(1, 9) if good is None else good)]
        for _ in range(chance.randrange(4) if bad is None else bad):
            items.insert(chance.randrange(len(items) + 1), self._bad(in_a_batch=form is _as_batch))
        for _ in range(new):
            items.insert(chance.randrange(len(items) + 1), self._new())
        data = form(items)
        return Content(gzip.compress(data, 1) if chance.random() < 0.2 else data, tuple(items))

    def long_file(self, megabytes: int) -> Content:
        """A file that is too long to be held back: its data file is on disk before its last record is read."""
        items = []
        for number in itertools.islice(self.numbers, megabytes * 20):
            note = self.chance.randbytes(25_000).hex()
            items.append(Item(f'{{"id": {number}, "note": "{note}"}}', row(number, note), row(number, note)))
        return Content(_as_lines(items), tuple(items))

    def _good(self) -> Item:
        number = next(self.numbers)
        note = self.chance.choice((None, *_NOTES))
        held = {"id": number} if note is None else {"id": number, "note": note}
        text = json.dumps(held, ensure_ascii=self.chance.random() < 0.5)
        return Item(text, row(number, note), row(number, note))

    def _new(self) -> Item:
        number = next(self.numbers)
        text = f'{{"id": {number}, "{NEW_FIELD}": "new {number}"}}'
        return Item(text, letter("unknown_field", text), row(number, None, f"new {number}"))

    def _bad(self, *, in_a_batch: bool) -> Item:
        number = next(self.numbers)
        faults = _FAULTS if in_a_batch else (*_FAULTS, ("not_json", '{{"id": {0},}}'), ("not_json", "rubbish {0}"))
        reason, pattern = self.chance.choice(faults)
        text = pattern.format(number)
        return Item(text, letter(reason, text), letter(reason, text))


_FAULTS = (
    ("wrong_type", '{{"id": "not the number {0}"}}'),
    ("wrong_type", '{{"id": {0}.5}}'),
    ("missing_field", '{{"note": "{0}"}}'),
    ("unknown_field", '{{"id": {0}, "unheard": 1}}'),
    ("duplicate_field", '{{"id": {0}, "id": {0}}}'),
    ("not_an_object", "{0}"),
    ("rule_broken", '{{"id": -{0}}}'),
)


def _as_lines(items: Sequence[Item]) -> bytes:
    return "".join(f"{item.text}\n" for item in items).encode()


def _as_batch(items: Sequence[Item]) -> bytes:
    return f"[{', '.join(item.text for item in items)}]\n".encode()


_FORMS: tuple[Callable[[Sequence[Item]], bytes], ...] = (_as_lines, _as_batch)
