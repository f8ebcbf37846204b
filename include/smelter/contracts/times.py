"""How times and durations are written in contracts."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

_DURATION = re.compile(r"([1-9][0-9]{0,8})(s|m|h|d)")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_SECONDS = 36_500 * 86_400
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})")
_DIRECTIVE = re.compile(r"%(.)|([^%])", re.DOTALL)
WIDTHS = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}


def seconds_of(duration: str) -> int:
    """`90s`, `15m`, `1h` or `7d` in seconds."""
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise ValueError(f"`{duration}` is not a duration; write 90s, 15m, 1h or 7d")
    seconds = int(match[1]) * _UNIT_SECONDS[match[2]]
    if seconds > _LONGEST_SECONDS:
        raise ValueError(f"`{duration}` is longer than 36500d, which is the longest duration")
    return seconds


@dataclass(frozen=True)
class TimeFormat:
    """A `format:` taken apart: fixed-width numbers, literal characters and at most one fraction (`%f`)."""

    parts: tuple[tuple[str, str], ...]  # ("directive", "Y") or ("literal", "-")

    @classmethod
    def parse(cls, text: str) -> TimeFormat:
        """Read a format; raises ValueError with what is allowed."""
        parts: list[tuple[str, str]] = []
        matched = 0
        for match in _DIRECTIVE.finditer(text):
            matched += len(match[0])
            parts.append(_part(match, text))
        if matched != len(text):
            raise ValueError(f"the format `{text}` ends in `%`")
        directives = [name for kind, name in parts if kind == "directive"]
        _check_directives(directives, text)
        return cls(tuple(parts))

    @property
    def has_time(self) -> bool:
        """True if the format names an hour."""
        return ("directive", "H") in self.parts


def _part(match: re.Match[str], text: str) -> tuple[str, str]:
    if match[1] is None:
        if not match[2].isascii() or not match[2].isprintable():
            raise ValueError(f"the format `{text}` may hold only printable ASCII characters")
        return ("literal", match[2])
    if match[1] == "%":
        return ("literal", "%")
    if match[1] in WIDTHS or match[1] == "f":
        return ("directive", match[1])
    raise ValueError(f"the format `{text}` has `%{match[1]}`; known are %Y %m %d %H %M %S %f and %%")


def _check_directives(directives: list[str], text: str) -> None:
    for name in directives:
        if directives.count(name) > 1:
            raise ValueError(f"the format `{text}` has `%{name}` twice")
    if not {"Y", "m", "d"} <= set(directives):
        raise ValueError(f"the format `{text}` must have %Y, %m and %d")
    chain = ["H", "M", "S", "f"]
    present = [name in directives for name in chain]
    if sorted(present, reverse=True) != present:
        raise ValueError(f"the format `{text}` has a smaller unit without the larger one")


def moment_of(text: str) -> datetime.datetime:
    """An RFC 3339 time of a contract, as an aware datetime in UTC."""
    if _MOMENT.fullmatch(text) is None:
        raise ValueError(f"`{text}` is not a time with a zone; write 2020-01-01T00:00:00Z")
    return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)


def day_of(text: str) -> datetime.date:
    """A date of a contract."""
    if _DATE.fullmatch(text) is None:
        raise ValueError(f"`{text}` is not a date; write 2020-01-31")
    return datetime.date.fromisoformat(text)
