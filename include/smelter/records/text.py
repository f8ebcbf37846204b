"""A text that is read in chunks: it grows at its end and forgets what was passed, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

from smelter.records.scan import Outcome, Scan, after_white, scan_value

WINDOW_BYTES = 1024 * 1024


class Text:
    """The bytes from the current place `at` on. Places stay valid until `refill` or `forget` is called."""

    def __init__(self, chunks: Iterator[bytes], max_record_bytes: int, max_depth: int) -> None:
        self._chunks = chunks
        self.max_bytes = max_record_bytes
        self.max_depth = max_depth
        self.data = b""
        self.at = 0
        self.final = False
        self.indent = 0
        self._line_is_fresh = True  # nothing but white space so far on this line

    @property
    def left(self) -> int:
        """How many bytes are here from the current place on."""
        return len(self.data) - self.at

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
        while self.left < count and self.more():
            pass

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

    def take(self, end: int, *, same_line: bool = False) -> bytes:
        """The bytes up to `end`, which are passed; what follows is on the line of the last of them.

        `same_line` if they are a part of something that counts as being where it began.
        """
        taken = self.data[self.at : end]
        self.at = end
        self._line_is_fresh = False
        newline = -1 if same_line else taken.rfind(b"\n")
        if newline >= 0:
            self.indent = after_white(taken, newline + 1) - newline - 1
        return taken

    def skip_white(self) -> bool:
        """Go to the next byte that is not white space, keeping account of the line's indent; False at the end."""
        while True:
            start, self.at = self.at, after_white(self.data, self.at)
            newline = self.data.rfind(b"\n", start, self.at)
            if newline >= 0:
                self.indent, self._line_is_fresh = self.at - newline - 1, True
            elif self._line_is_fresh:
                self.indent += self.at - start
            if self.at < len(self.data):
                return True
            self.forget()
            if not self.more():
                return False

    def line_end(self, start: int) -> int:
        """The place of the next line break, or of the end of the text, or some place past the limit."""
        searched = start
        while True:
            end = self.data.find(b"\n", searched)
            if end >= 0:
                return end
            searched = len(self.data)
            if searched - self.at > self.max_bytes or not self.more():
                return len(self.data)

    def next_line(self, start: int) -> tuple[int, int] | None:
        """Place and indent of the first byte of the next line that is not blank; `start` is a line break."""
        while True:
            place = after_white(self.data, start)
            if place < len(self.data):
                return place, place - self.data.rfind(b"\n", start, place) - 1
            if not self.more():
                return None

    def scan(self) -> Scan | None:
        """Scan the value here, with as much text as it needs; None if it is longer than the limit."""
        while True:
            limited = self.left > self.max_bytes
            end = self.at + self.max_bytes + 1 if limited else None
            scan = scan_value(self.data, self.at, self.max_depth, end=end, final=self.final and not limited)
            if scan.outcome is not Outcome.OPEN:
                return scan if scan.end - self.at <= self.max_bytes else None
            if limited:
                return None
            if self.final:
                return scan
            self.grow()
