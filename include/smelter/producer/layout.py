"""How the records of a file are put together, and where it can be cut."""

from __future__ import annotations

import random
from dataclasses import dataclass

import msgspec

from smelter.producer.plan import Format, Reason
from smelter.producer.sabotage import Made

_ATTEMPTS = 100


@dataclass(frozen=True)
class Layout:
    """What stands before, between and after the records."""

    opening: str
    between: str
    closing: str

    @property
    def is_array(self) -> bool:
        """True if the file is one JSON array."""
        return self.opening != ""


LAYOUTS = {
    Format.ARRAY: Layout("[", ",", "]\n"),
    Format.NDJSON: Layout("", "\n", "\n"),
    Format.PRETTY: Layout("[\n  ", ",\n  ", "\n]\n"),
}


@dataclass(frozen=True)
class Page:
    """A file, or one stretch of a stream: its bytes and what must become of each record in it."""

    content: bytes
    made: tuple[Made, ...]


def indented(made: list[Made]) -> list[Made]:
    """The same records over several lines, as they stand in a pretty array; garbage stays as it is."""
    return [one if one.is_garbage else one._replace(text=_pretty(one.text)) for one in made]


def whole_page(made: list[Made], layout: Layout, *, is_first: bool = True, is_last: bool = True) -> Page:
    """All records, with what opens the document if it is the first page and what closes it if it is the last."""
    before = layout.opening if is_first else layout.between
    text = before + layout.between.join([one.text for one in made]) + (layout.closing if is_last else "")
    return Page(text.encode(), tuple(made))


def cut_page(made: list[Made], layout: Layout, rng: random.Random, *, is_first: bool = True) -> Page | None:
    """The page up to a random byte: the records before it, then one letter. None if no honest cut was found."""
    content = whole_page(made, layout, is_first=is_first, is_last=False).content
    spans = _spans(made, layout, is_first)
    cut = _array_cut(made, spans, len(content), rng) if layout.is_array else _line_cut(made, spans, rng)
    if cut is None:
        return None
    while content[cut] & 0xC0 == 0x80 if cut < len(content) else False:
        cut -= 1  # between characters, so that the letter's tail is text
    whole = [one for one, (_, end) in zip(made, spans, strict=True) if end <= cut]
    return Page(content[:cut], (*whole, Made("", "corrupt", Reason.TRUNCATED_BATCH)))


def _spans(made: list[Made], layout: Layout, is_first: bool) -> list[tuple[int, int]]:
    """The first byte of each record and the one after its last."""
    at = len(layout.opening if is_first else layout.between)
    spans: list[tuple[int, int]] = []
    for one in made:
        end = at + len(one.text.encode())
        spans.append((at, end))
        at = end + len(layout.between)
    return spans


def _line_cut(made: list[Made], spans: list[tuple[int, int]], rng: random.Random) -> int | None:
    """Inside of a record that is JSON: half a line of garbage would still be a line of garbage."""
    inside = [span for one, span in zip(made, spans, strict=True) if not one.is_garbage]
    if not inside:
        return None
    start, end = rng.choice(inside)
    return rng.randint(start + 1, end - 1)


def _array_cut(made: list[Made], spans: list[tuple[int, int]], size: int, rng: random.Random) -> int | None:
    """Anywhere after the first byte and before the closing bracket, but not in garbage, which has no clear end."""
    garbage = [span for one, span in zip(made, spans, strict=True) if one.is_garbage]
    for _ in range(_ATTEMPTS):
        cut = rng.randint(1, size)
        if not any(start < cut <= end for start, end in garbage):
            return cut
    return None


def _pretty(text: str) -> str:
    return msgspec.json.format(text, indent=2).replace("\n", "\n  ")
