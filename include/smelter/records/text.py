"""A text that is read in chunks: it grows at its end and forgets what was passed, so that memory stays bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smelter.records.pieces import KEPT_BYTES, Passed
from smelter.records.scan import Outcome, Scan, after_white, scan_value

WINDOW_BYTES = 1024 * 1024
_BLANKS = re.compile(rb"[ \t\r]*+")


class Text:
    """The bytes from the current place `at` on. Places stay valid until `refill` or `forget` is called."""

    def __init__(self, chunks: Iterator[bytes], max_record_bytes: int, max_depth: int) -> None:
        self._chunks = chunks
        self.max_bytes = max_record_bytes
        self.max_depth = max_depth
        self._far = max(max_record_bytes, KEPT_BYTES) + 1
        self.data = b""
        self.at = 0
        self.final = False
        self.indent = 0
        self._line_is_fresh = True  # nothing but white space so far on this line

    @property
    def left(self) -> int:
        """How many bytes are here from the current place on."""
        return len(self.data) - self.at

    @property
    def is_done(self) -> bool:
        """Was everything passed?"""
        return self.final and self.at == len(self.data)

    def more(self) -> bool:
        """Append the next chunk; False at the end of the text."""
        chunk = next(self._chunks, None)
        if chunk is None:
            self.final = True
            return False
        self.data += chunk
        return True

    def fill(self, count: int) -> None:
        """Have at least `count` bytes from here on, or all that there are."""
        missing = count - self.left
        parts = [self.data] if self.data else []
        while missing > 0 and not self.final:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.final = True
            else:
                parts.append(chunk)
                missing -= len(chunk)
        self.data = b"".join(parts)

    def grow(self) -> None:
        """Have twice as much from here on, so that scanning again and again stays cheap."""
        self.fill(2 * self.left + 1)

    def forget(self) -> int:
        """Let go of what was passed; the number of bytes by which all places move."""
        moved = self.at
        self.data = self.data[moved:]
        self.at = 0
        return moved

    def refill(self) -> int:
        """Have a window's worth of bytes; the number of bytes by which all places move."""
        if self.final or self.left >= WINDOW_BYTES:
            return 0
        moved = self.forget()
        self.fill(WINDOW_BYTES)
        return moved

    def take(self, end: int) -> bytes:
        """The bytes up to `end`, which are passed; what follows is on the line of the last of them."""
        taken = self.data[self.at : end]
        self.pass_over(taken)
        return taken

    def pass_over(self, passed: bytes) -> None:
        """Go on behind bytes that have been cut out of the text already."""
        self.at += len(passed)
        self._pass_line_breaks(passed)

    def _pass_line_breaks(self, passed: bytes) -> None:
        """Keep account of the indent of the line on which what was passed ends."""
        newline = passed.rfind(b"\n")
        if newline >= 0:
            self.indent, self._line_is_fresh = 0, True
        if self._line_is_fresh:
            blanks = after_white(passed, newline + 1) - newline - 1
            self.indent += blanks
            self._line_is_fresh = newline + 1 + blanks == len(passed)

    def skip_white(self, passed: Passed | None = None) -> bool:
        """Go to the next byte that is not white space, keeping account of the line's indent; False at the end."""
        while True:
            white = self.take(after_white(self.data, self.at))
            if passed is not None:
                passed.add(white)
            if self.at < len(self.data):
                return True
            self.forget()
            if not self.more():
                return False

    def skip_line(self, passed: Passed) -> bool:
        """Go to the next line break; False at the end."""
        while True:
            end = self.data.find(b"\n", self.at)
            passed.add(self.take(end if end >= 0 else len(self.data)))
            if end >= 0:
                return True
            self.forget()
            if not self.more():
                return False

    def next_place(self, start: int) -> int | None:
        """The place at or after `start` that is not white space, or the end; None if it is too far away to matter."""
        place = start
        while True:
            place = after_white(self.data, place)
            if place < len(self.data) or self.final:
                return place
            if place - start > self._far:
                return None
            self.grow()

    def next_on_line(self, start: int) -> int:
        """The place at or after `start` that is no blank, or the end. Blanks that are too many to matter are let go."""
        place = start
        while True:
            blanks = _BLANKS.match(self.data, place)
            assert blanks is not None
            place = blanks.end()
            if place < len(self.data) or self.final:
                return place
            if place - start > self._far:
                place = start + self._far
                self.data = self.data[:place]
            self.grow()

    def line_end(self, start: int) -> int:
        """The place of the next line break, or of the end of the text, or some place past the limit."""
        searched = start
        while True:
            end = self.data.find(b"\n", searched)
            if end >= 0:
                return end
            searched = len(self.data)
            if searched - self.at > self.max_bytes or self.final:
                return searched
            self.grow()

    def scan(self, start: int | None = None) -> Scan | None:
        """Scan the value here, or at `start`, with as much text as it needs; None if it is longer than the limit."""
        start = self.at if start is None else start
        while True:
            limited = len(self.data) - start > self.max_bytes
            end = start + self.max_bytes + 1 if limited else None
            scan = scan_value(self.data, start, self.max_depth, end=end, final=self.final and not limited)
            if scan.outcome is not Outcome.OPEN:
                return scan if scan.end - start <= self.max_bytes else None
            if limited:
                return None
            if self.final:
                return scan
            self.grow()
