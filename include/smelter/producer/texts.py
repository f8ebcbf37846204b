"""Texts, bytes and ids, as JSON strings."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import Callable

_WORD_LIST = (
    "amber anvil apple basin birch blaze brass cedar chalk cloud copper coral crane delta ember fable fern flint "
    "forge frost glass grain harbor hazel iron ivory juniper kettle lantern ledge linen maple marble meadow mint "
    "moss north oak olive onyx opal orchard otter paper pearl pine plum quartz quill raven reed river rust sage "
    "salt sand shale silver slate smoke spark stone storm tin topaz vale velvet walnut willow wren zinc"
)
WORDS = _WORD_LIST.split()
_STRANGE = ("é", "ß", "日本", "😀", '"', "\\", "/", "\n", "\t", "\u0000", "\u2028", "{", "]", ",", "'", "\x7f")
_USUAL_WORDS = 3


def quoted(text: str) -> str:
    """The text as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def plain_text(rng: random.Random, shortest: int, longest: int | None, edges: float = 0.0) -> str:
    """A few words, cut or continued to fit; with probability `edges` a character that needs care follows each."""
    parts: list[str] = []
    wanted = 1 + int(rng.random() * _USUAL_WORDS)
    length = 0
    while len(parts) < wanted or length < shortest:
        part = WORDS[int(rng.random() * len(WORDS))]
        if edges and rng.random() < edges:
            part += rng.choice(_STRANGE)
        part = f" {part}" if parts else part
        parts.append(part)
        length += len(part)
    return "".join(parts)[:longest]


def json_texts(rng: random.Random, shortest: int, longest: int | None, edges: float) -> Callable[[], str]:
    """Draws JSON strings with a length in characters; with `edges`, also escaped and empty ones."""

    def draw() -> str:
        if edges and shortest == 0 and rng.random() < edges:
            return '""'
        text = plain_text(rng, shortest, longest, edges)
        return json.dumps(text, ensure_ascii=bool(edges) and rng.random() < edges)

    return draw


def bytes_in_base64(rng: random.Random, shortest: int, longest: int | None) -> str:
    """Random bytes with a length within bounds, as a JSON string in base64."""
    length = size_between(rng, shortest, longest, usual=12)
    return f'"{base64.b64encode(rng.randbytes(length)).decode("ascii")}"'


def size_between(rng: random.Random, shortest: int, longest: int | None, usual: int) -> int:
    """A size within bounds, at most `usual` more than the smallest."""
    most = shortest + usual if longest is None else min(longest, shortest + usual)
    return rng.randint(shortest, most)


def unique_id(prefix: str, index: int) -> str:
    """32 hex digits that no other index of this run has."""
    return hashlib.blake2b(f"{prefix}:{index}".encode(), digest_size=16).hexdigest()
