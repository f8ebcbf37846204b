"""One record as a tree, or why it is not JSON. Repeated keys are kept; so is the exact text of numbers, on request."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from smelter.records.letters import Problem, Reason
from smelter.records.quotes import quotes_in, quotes_of
from smelter.records.scan import Outcome, scan_value
from smelter.records.shape import NumberText
from smelter.records.source import Limits

SHOWN = 80


class Repeated(dict[str, Any]):
    """A JSON object in which a key appears more than once; `pairs` has all of its members in the order of the text."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Repeated(pairs)


_read_exactly = json.JSONDecoder(object_pairs_hook=_object, parse_float=NumberText, parse_int=NumberText).raw_decode
decode_anything = msgspec.json.Decoder(float_hook=NumberText).decode
_encode = msgspec.json.Encoder().encode
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def tree_of(record: bytes, limits: Limits) -> Any:
    """The record's tree, or a `Problem` if it is not JSON within the limits."""
    if len(record) > limits.max_record_bytes:
        return too_large(limits)
    try:
        record.decode()
    except UnicodeDecodeError as problem:
        return _bad_encoding(record, problem.start)
    if record.count(b"{") + record.count(b"[") > limits.max_depth and _is_too_deep(record, limits.max_depth):
        found = f"more than {limits.max_depth} levels"
        return Problem(Reason.RECORD_TOO_LARGE, "max_depth", "", found, f"the record is nested {found} deep")
    try:
        tree = decode_anything(record)
        if quotes_of(tree, limits.max_depth + 1) == quotes_in(record):
            return tree
        return exact_tree_of(record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _exact_or_not_json(record, limits)


def exact_tree_of(record: bytes) -> Any:
    """The tree of well-formed JSON with every number as its text: `-0` and thousands of digits stay what they are."""
    return _read_exactly(record.decode().strip(" \t\r\n"))[0]


def _exact_or_not_json(record: bytes, limits: Limits) -> Any:
    """The strict reader refuses what is not JSON, and integers of thousands of digits, which are."""
    try:
        _decode_raw(record)
        return exact_tree_of(record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return not_json(record, limits)


def _is_too_deep(record: bytes, max_depth: int) -> bool:
    scan = scan_value(record, 0, max_depth)
    return scan.outcome is Outcome.BROKEN and scan_value(record, 0, len(record)).end > scan.end


def _bad_encoding(record: bytes, place: int) -> Problem:
    found = repr(record[place : place + 8])[2:-1]
    return Problem(Reason.BAD_ENCODING, "utf8", "", found, f"the record is not UTF-8: byte {place} is {found}")


def not_json(record: bytes, limits: Limits) -> Problem:
    """Why a record is not JSON, with the place."""
    scan = scan_value(record, 0, limits.max_depth)
    if scan.outcome is Outcome.WHOLE and not record[scan.end :].strip():
        found, message = "a lone surrogate", "not JSON: a \\u escape is half of a pair"
        return Problem(Reason.NOT_JSON, "json", "", found, message)
    if scan.outcome is Outcome.OPEN:
        return Problem(Reason.NOT_JSON, "json", "", "the end", "not JSON: the record ends before it is complete")
    place = scan.end if scan.outcome is Outcome.WHOLE else scan.token
    rest = record[place : place + 1000].lstrip(b" \t\r\n")
    if not rest:
        return Problem(Reason.NOT_JSON, "json", "", "nothing", "not JSON: there is nothing")
    found = shown(rest[:40].decode("utf-8", "replace"))
    return Problem(Reason.NOT_JSON, "json", "", found, f"not JSON: at byte {place} found {found}")


def too_large(limits: Limits) -> Problem:
    """The problem of a record that is too long."""
    limit = f"{limits.max_record_bytes:,} bytes"
    message = f"the record is longer than {limit}; only its beginning is kept here"
    return Problem(Reason.RECORD_TOO_LARGE, "max_record_bytes", "", f"more than {limit}", message)


def shown(value: Any) -> str:
    """What was found, short enough for a line."""
    if isinstance(value, NumberText) or type(value) is int:
        return clipped(str(value))
    if isinstance(value, str):
        return _encode(clipped(value)).decode()
    if isinstance(value, dict):
        return f"an object with {len(value)} fields"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return "null" if value is None else "true" if value else "false"


def clipped(text: str) -> str:
    """The text, or its beginning if it is long."""
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


_KINDS = {
    str: "a string",
    int: "a number",
    NumberText: "a number",
    bool: "a boolean",
    list: "an array",
    dict: "an object",
    Repeated: "an object",
}


def kind_of(value: Any) -> str:
    """What JSON calls a value of this kind."""
    return _KINDS.get(type(value), "null")
