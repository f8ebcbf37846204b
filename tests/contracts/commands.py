"""What a command did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Smelt = Callable[..., Done]


def write(name: str, text: str) -> str:
    Path(name).write_text(text, "utf-8")
    return name
