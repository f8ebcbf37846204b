"""The part of a text that is looked at: it grows at its end and forgets what was passed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smelter.ledger.expansion import TextCutShort
from smelter.ledger.grammar import WHITE_RUN

KEPT_BYTES = 64 * 1024
_GROWTH_BYTES = 256 * 1024
_MARK = b"\xef\xbb\xbf"
BLANK_RUN = re.compile(rb"[ \t\r]*+")
LINE_RUN = re.compile(rb"[^\n]*+")


class Window:
    """The bytes from the place `at` on. `grow` forgets what lies before it, and so moves all places."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._forgotten_indent = 0
        self._indent_is_passed = False
        self.data = b""
        self.at = 0
        self.has_ended = False
        self.was_cut_short = False
        self.hold(len(_MARK))
        self.data = self.data.removeprefix(_MARK)

    @property
    def is_done(self) -> bool:
        """Was the whole text passed?"""
        return self.has_ended and self.at == len(self.data)

    def grow(self) -> bool:
        """Hold at least twice as much from `at` on; False if there is no more, and then no place has moved."""
        missing = max(len(self.data) - self.at, _GROWTH_BYTES)
        parts: list[bytes] = []
        while missing > 0 and (piece := self._next_piece()) is not None:
            parts.append(piece)
            missing -= len(piece)
        if not any(parts):
            return False
        self._forget()
        self.data = b"".join([self.data, *parts])
        return True

    def hold(self, count: int) -> None:
        """Hold so many bytes from `at` on, or all that there are."""
        while len(self.data) - self.at < count and self.grow():
            pass

    def forget_after(self, place: int) -> None:
        """Let go of everything behind `place`; the text goes on with what was not read yet."""
        self.data = self.data[:place]

    def indent(self) -> int:
        """How many blanks begin the line on which `at` lies, which is no white space itself."""
        return self._indent_up_to(self.at)[0]

    def _next_piece(self) -> bytes | None:
        piece = None
        try:
            piece = next(self._pieces, None)
        except TextCutShort:
            self.was_cut_short = True
        self.has_ended = piece is None
        return piece

    def _forget(self) -> None:
        self._forgotten_indent, self._indent_is_passed = self._indent_up_to(self.at)
        self.data, self.at = self.data[self.at :], 0

    def _indent_up_to(self, place: int) -> tuple[int, bool]:
        """The blanks that begin the line of `place`, and whether anything else comes between them and it."""
        start = self.data.rfind(b"\n", 0, place) + 1
        if start == 0 and self._indent_is_passed:
            return self._forgotten_indent, True
        end = end_of_run(BLANK_RUN, self.data, start, place)
        return end - start + (0 if start else self._forgotten_indent), end < place


class Passage:
    """What is being passed over, from where the window is now; only its beginning is kept."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._kept = bytearray()
        self.length = 0

    def text(self, length: int | None = None) -> bytes:
        """The beginning of what was passed, without the white space at its end."""
        return bytes(self._kept[:length]).rstrip(b" \t\r\n")

    def to(self, place: int) -> None:
        """Pass over everything before `place`."""
        window = self._window
        self._kept += window.data[window.at : min(place, window.at + KEPT_BYTES - len(self._kept))]
        self.length += place - window.at
        window.at = place

    def along(self, run: re.Pattern[bytes]) -> bool:
        """Pass over such bytes; False if the text ends with them."""
        while True:
            self.to(end_of_run(run, self._window.data, self._window.at))
            if self._window.at < len(self._window.data):
                return True
            if not self._window.grow():
                return False


def pass_white(window: Window) -> bool:
    """Go to the next byte that is no white space; False if there is none."""
    return Passage(window).along(WHITE_RUN)


def end_of_run(run: re.Pattern[bytes], data: bytes, start: int, stop: int | None = None) -> int:
    found = run.match(data, start, len(data) if stop is None else stop)
    assert found is not None
    return found.end()
