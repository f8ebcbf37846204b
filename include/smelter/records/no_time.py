"""Why is a text no time? The sentence for the person who wrote the producer."""

from __future__ import annotations

import re

from smelter.records.times import TimeReader

_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?")


def why_no_time(text: str, reader: TimeReader) -> str:
    """Beyond the shape that the type asks for: what exactly is wrong; nothing if the shape itself is."""
    if reader.has_shape(text):
        if reader.skips(text):
            return f"the clock of {reader.zone} never showed this time"
        return "there is no such day, time or zone, or it is outside the years 1 to 9999"
    if reader.format is not None or reader.is_date:
        return ""
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return ""
    if clock[1] and len(clock[1]) > 7:
        return "more than 6 digits after the point"
    if clock[2] is None:
        return "it has no zone, such as Z or +01:00"
    return f"it has a zone, and the contract says {reader.zone}" if reader.zone else ""
