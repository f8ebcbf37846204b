"""Why is a record not good? The reasons, the problems of one record, and the letter that keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate, chain
from operator import attrgetter

import msgspec
import pyarrow as pa


class Reason(StrEnum):
    """The one word on a dead letter. Where a record has several problems, the first of this order is its reason."""

    FILE_UNREADABLE = "file_unreadable"
    FILE_TOO_LARGE = "file_too_large"
    FILE_CHANGED = "file_changed"
    TRUNCATED_BATCH = "truncated_batch"
    RECORD_TOO_LARGE = "record_too_large"
    BAD_ENCODING = "bad_encoding"
    NOT_JSON = "not_json"
    NOT_AN_OBJECT = "not_an_object"
    DUPLICATE_FIELD = "duplicate_field"
    MISSING_FIELD = "missing_field"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    RULE_BROKEN = "rule_broken"


_ORDER = {reason: rank for rank, reason in enumerate(Reason)}


class Problem(msgspec.Struct, frozen=True, gc=False):
    """One thing that is wrong with a record: which rule, at which field, what was found there."""

    reason: Reason
    rule: str
    field: str
    found: str
    message: str


class DeadLetter(msgspec.Struct, frozen=True):
    """A record that is not good, whole: its place, its reason, all of its problems and its text.

    `raw_bytes` is set only where `raw` would lose something, because the bytes are not UTF-8.
    """

    source: str
    position: int
    reason: Reason
    errors: tuple[Problem, ...]
    raw: str
    raw_bytes: bytes | None = None


_ERROR = pa.struct([pa.field(name, pa.string(), nullable=False) for name in ("rule", "field", "found", "message")])
LETTER_SCHEMA = pa.schema(
    [
        pa.field("_source", pa.string(), nullable=False),
        pa.field("_position", pa.int64(), nullable=False),
        pa.field("_id", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("errors", pa.list_(_ERROR), nullable=False),
        pa.field("raw", pa.string(), nullable=False),
        pa.field("raw_bytes", pa.binary()),
    ]
)


def letter_of(source: str, position: int, problems: Sequence[Problem], raw: bytes) -> DeadLetter:
    """The letter for one record or one file; there is at least one problem."""
    reason = reason_of(problems)
    try:
        text, lossless = raw.decode("utf-8"), None
    except UnicodeDecodeError:
        text, lossless = raw.decode("utf-8", "replace"), raw
    return DeadLetter(source, position, reason, tuple(problems), text, lossless)


def reason_of(problems: Sequence[Problem]) -> Reason:
    """The one word for a record with these problems."""
    if len(problems) == 1:
        return problems[0].reason
    return min((problem.reason for problem in problems), key=_ORDER.__getitem__)


def letter_id(dataset: str, source: str, position: int) -> str:
    """Sixteen hex digits that name a letter: the same record always has the same id."""
    return _named(_names_of(dataset, source), position)


def _names_of(dataset: str, source: str) -> hashlib.blake2b:
    return hashlib.blake2b(f"{dataset}\x00{source}\x00".encode("utf-8", "surrogatepass"), digest_size=8)


def _named(names: hashlib.blake2b, position: int) -> str:
    names = names.copy()
    names.update(b"%d" % position)
    return names.hexdigest()


def letters_to_arrow(dataset: str, letters: Sequence[DeadLetter]) -> pa.RecordBatch:
    """Letters as columns, in the order of `LETTER_SCHEMA`."""
    names = {source: _names_of(dataset, source) for source in {letter.source for letter in letters}}
    columns = [
        pa.array([letter.source for letter in letters], pa.string()),
        pa.array([letter.position for letter in letters], pa.int64()),
        pa.array([_named(names[letter.source], letter.position) for letter in letters], pa.string()),
        pa.array([letter.reason for letter in letters], pa.string()),
        errors_to_arrow([letter.errors for letter in letters]),
        pa.array([letter.raw for letter in letters], pa.string()),
        pa.array([letter.raw_bytes for letter in letters], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LETTER_SCHEMA)


def errors_to_arrow(per_letter: Sequence[tuple[Problem, ...]]) -> pa.Array:
    """Lists of structs, column by column: several times faster than from Python dicts."""
    offsets = [0, *accumulate(map(len, per_letter))]
    problems = list(chain.from_iterable(per_letter))
    members = [pa.array(list(map(attrgetter(f.name), problems)), pa.string()) for f in _ERROR]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(members, fields=list(_ERROR)))
