"""Zones and formats: how times are written that have no zone of their own."""

from __future__ import annotations

import pytest
from contract_texts import contract, the_fault, with_field


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ('type: timestamp, format: "%Y-%m-%d %H:%M:%S"', "`format` has no zone in it, so say which one it is"),
        ('type: timestamp, zone: UTC, format: "%Y-%m-%d"', "has no time of day; the type is timestamp"),
        ('type: date, format: "%Y-%m-%d %H"', "has a time of day; the type is date"),
        ('type: date, format: "%Y-%m"', "must have %Y, %m and %d"),
        ('type: date, format: ""', "must have %Y, %m and %d"),
        ('type: date, format: "%Y-%m-%d%"', "ends in `%`"),
        ('type: date, format: "%Y-%m-%d %Y"', "has `%Y` twice"),
        ('type: date, format: "%y-%m-%d"', "has `%y`; known are %Y %m %d %H %M %S %f and %%"),
        ('type: timestamp, zone: UTC, format: "%Y-%m-%d %H:%M:%S%z"', "has `%z`; known are"),
        ('type: timestamp, zone: UTC, format: "%Y-%m-%d %M"', "has a smaller unit without the larger one"),
        ('type: timestamp, zone: UTC, format: "%Y-%m-%d %H.%f"', "has a smaller unit without the larger one"),
        ('type: date, format: "%Y年%m-%d"', "may hold only printable ASCII characters"),
        ("type: timestamp, zone: Mars", "`Mars` is not a time zone; write one such as America/New_York"),
        ("type: timestamp, zone: america/new_york", "did you mean `America/New_York`?"),
        ("type: timestamp, zone: Europe/Berln", "did you mean `Europe/Berlin`?"),
        ("type: timestamp, zone: ''", "is not a time zone"),
        ("type: timestamp, zone: ../../etc/passwd", "is not a time zone"),
        ("type: timestamp, zone: /etc/localtime", "is not a time zone"),
        ("type: timestamp, zone: localtime", "is not a time zone"),
        ("type: timestamp, zone: posix/UTC", "is not a time zone"),
    ],
)
def test_a_zone_or_a_format_that_means_no_time_is_refused(rules: str, said: str) -> None:
    line, message = the_fault(with_field(rules))
    assert line == 5
    assert said in message


@pytest.mark.parametrize(
    "rules",
    [
        "type: timestamp, zone: Europe/Berlin",
        'type: timestamp, zone: UTC, format: "%d/%m/%Y %H:%M:%S.%f"',
        'type: timestamp, zone: UTC, format: "%Y%m%d%H"',
        'type: date, format: "%d.%m.%Y"',
        'type: date, format: "%Y%%%m%d"',
    ],
)
def test_times_can_be_written_in_many_ways(rules: str) -> None:
    assert contract(with_field(rules))
