"""How do we fail? With one short text: what happened, where, what became of the data, and the next command."""

from __future__ import annotations

from typing import ClassVar


class SmelterError(Exception):
    """The root of everything that Smelter refuses or cannot do; the command line prints it without a traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str = "", data: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.data = data
        self.next_step = next_step

    def __str__(self) -> str:
        lines = [self.what]
        for label, text in (("where", self.where), ("data", self.data), ("next", self.next_step)):
            if text:
                lines.append(f"  {label}: {text}")
        return "\n".join(lines)


class Refused(SmelterError):
    """A check failed, or the request was refused and nothing changed."""

    exit_code = 1


class WrongUsage(SmelterError):
    """The command was asked in a way that has no meaning."""

    exit_code = 2


class Unreachable(SmelterError):
    """Something that is needed is missing, unreachable, broken or full."""

    exit_code = 3
