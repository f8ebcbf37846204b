"""The same answers a second time, in plain Python: what gold must hold, from the rows of silver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from silvers import Event

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[Any, ...]


def activity_per_minute(events: Iterable[Event]) -> list[Row]:
    groups: dict[Row, list[Event]] = defaultdict(list)
    for event in events:
        for start in starts_of(event.at, 60, 60):
            groups[start, event.type].append(event)
    return _ordered(
        (start, start + timedelta(minutes=1), kind, len(found), len({one.user for one in found} - {None}))
        for (start, kind), found in groups.items()
    )


def active_users_10m(events: Iterable[Event]) -> list[Row]:
    groups: dict[datetime, list[Event]] = defaultdict(list)
    for event in events:
        for start in starts_of(event.at, 600, 300):
            groups[start].append(event)
    return _ordered(
        (start, start + timedelta(minutes=10), len({one.user for one in found} - {None}), len(found))
        for start, found in groups.items()
    )


def sessions(events: Iterable[Event]) -> list[Row]:
    gap = timedelta(minutes=10)
    by_user: dict[str | None, list[Event]] = defaultdict(list)
    for event in events:
        if event.at is not None:
            by_user[event.user].append(event)
    found: list[list[Event]] = []
    for mine in by_user.values():
        last = None
        for event in sorted(mine, key=lambda one: one.at):
            if last is None or event.at - last >= gap:
                found.append([])
            found[-1].append(event)
            last = event.at
    return _ordered(
        (
            one[0].user, one[0].at, one[-1].at + gap, one[0].at, one[-1].at, len(one),
            sum(event.type == "purchase" for event in one), (one[-1].at - one[0].at).total_seconds(),
        )
        for one in found
    )  # fmt: skip


def revenue_per_product_day(events: Iterable[Event]) -> list[Row]:
    groups: dict[Row, list[Event]] = defaultdict(list)
    for event in events:
        for start in starts_of(event.at, 86_400, 86_400):
            if event.type == "purchase":
                groups[start, event.product].append(event)
    return _ordered(
        (start, product, len(found), _sum(one.amount for one in found)) for (start, product), found in groups.items()
    )


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """As SQL adds: nulls do not count, and of nothing else the sum is null."""
    counted = [amount for amount in amounts if amount is not None]
    return sum(counted, Decimal(0)) if counted else None


def starts_of(at: datetime | None, size_seconds: int, every_seconds: int) -> list[datetime]:
    """The windows that hold a moment, found by looking at each that could."""
    if at is None:
        return []
    every, size = timedelta(seconds=every_seconds), timedelta(seconds=size_seconds)
    first = (at - size - EPOCH) // every
    candidates = (EPOCH + every * number for number in range(first - 1, first + size_seconds // every_seconds + 3))
    return [start for start in candidates if start <= at < start + size]


def _ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)
