"""How are bytes cut into records? By the rules of docs/records.md, which the ledger implements a second time.

A text is a sequence of documents. A document that is an array is a batch: its elements are the records.
Whole windows are offered to the caller first, who can decode thousands of good records in one call;
only a window that is not well-formed throughout is cut record by record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from smelter.records.documents import cut_documents, stands_alone
from smelter.records.elements import cut_elements, is_followed
from smelter.records.pieces import Broken, CutOff, Decoded, Piece, TooLarge, Whole, whole_records
from smelter.records.scan import WHITE
from smelter.records.text import Text

BOM = b"\xef\xbb\xbf"
_CUTS = 4
_OPEN_ARRAY, _CLOSE_ARRAY, _COMMA = b"[],"
_NEXT_ARRAY = re.compile(rb"\][ \t\r\n]*+\[")
Decode = Callable[[bytes, bool], "list[Any] | None"]


class Cutter:
    """Cuts one text. The records do not depend on where its chunks end."""

    def __init__(self, chunks: Iterator[bytes], decode: Decode, max_record_bytes: int, max_depth: int) -> None:
        self._text = Text(chunks, max_record_bytes, max_depth)
        self._decode = decode
        self._in_array = False
        self._after_comma = False
        self._after_element = False
        self._tried_until = 0  # up to here windows were tried in vain, so records are cut one by one

    def __iter__(self) -> Iterator[Piece]:
        text = self._text
        text.fill(len(BOM))
        if text.data.startswith(BOM):
            text.at = len(BOM)
        while text.skip_white():
            self._tried_until -= text.refill()
            piece = self._next_element() if self._in_array else self._next_document()
            if piece is not None:
                yield piece
        if self._in_array:
            yield CutOff(b"")

    def _next_document(self) -> Piece | None:
        text = self._text
        if text.data[text.at] == _OPEN_ARRAY:
            text.take(text.at + 1)
            self._in_array, self._after_comma, self._after_element = True, False, False
            return None
        return self._window(self._document_ends(), is_array=False) or cut_documents(text)

    def _next_element(self) -> Piece | None:
        text = self._text
        byte = text.data[text.at]
        if byte == _CLOSE_ARRAY:
            return self._close_array()
        if byte == _COMMA:
            text.take(text.at + 1)
            is_empty = not self._after_element
            self._after_comma, self._after_element = True, False
            return Broken(b"") if is_empty else None
        self._after_comma, self._after_element = False, True
        piece = self._window(self._element_ends(), is_array=True) or cut_elements(text)
        if isinstance(piece, CutOff) or (isinstance(piece, Broken | TooLarge) and piece.at_end):
            self._in_array = False  # it tells the rest
        return piece

    def _close_array(self) -> Piece | None:
        if self._after_comma:  # a comma promised one more element
            self._after_comma, self._after_element = False, True
            return Broken(b"")
        self._text.take(self._text.at + 1)
        self._in_array = False
        return None

    def _document_ends(self) -> Iterator[int]:
        """Where the last whole document of the window may end, the likeliest place first."""
        text = self._text
        if text.final:
            yield len(text.data)
            return
        newline = text.data.rfind(b"\n{", text.at)
        yield newline if newline > 0 else text.data.rfind(b"}", text.at) + 1

    def _element_ends(self) -> Iterator[int]:
        """Where the last whole element of the window may end, the likeliest place first."""
        text = self._text
        next_array = _NEXT_ARRAY.search(text.data, text.at)
        end = next_array.start() if next_array else len(text.data)
        if next_array or text.final:
            yield text.data.rfind(b"}", text.at, end) + 1
        for _ in range(_CUTS):
            end = self._comma_between_objects(end)
            if end < 0:
                return
            yield text.data.rfind(b"}", text.at, end) + 1

    def _comma_between_objects(self, end: int) -> int:
        data, start = self._text.data, self._text.at
        for _ in range(1000):
            end = data.rfind(b",", start, end)
            if end < 0:
                break
            if data[end + 1 : end + 65].lstrip(WHITE)[:1] == b"{" and data[end - 64 : end].rstrip(WHITE)[-1:] == b"}":
                return end
        return -1

    def _window(self, ends: Iterator[int], *, is_array: bool) -> Piece | None:
        """Offer all that is here to the caller, then try it as well-formed records; None if neither takes it."""
        text = self._text
        if text.at < self._tried_until or text.left > text.max_bytes:
            return None
        for end in ends:
            if end <= text.at:
                continue
            window = text.data[text.at : end]
            if not (is_followed(text, end) if is_array else stands_alone(text, end)):
                continue
            values = self._decode(window, is_array)
            if values is not None:
                text.pass_over(window)
                return Decoded(values, window, is_array)
            texts = whole_records(window, is_array, text.max_depth)
            if texts is not None:
                text.pass_over(window)
                return Whole(texts)
        self._tried_until = len(text.data)
        return None
