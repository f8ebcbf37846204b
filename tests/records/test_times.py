"""Times: the two readers agree on every text, and clock changes mean what the page says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smelter.records.time_columns import TimeColumns
from smelter.records.times import TimeReader

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
READERS = [
    (None, None, False),
    (None, "America/New_York", False),
    ("%Y-%m-%d %H:%M:%S", "America/New_York", False),
    ("%d/%m/%Y %H:%M:%S.%f", "Europe/Lisbon", False),
    ("%Y%m%d%H", "Australia/Lord_Howe", False),
    (None, None, True),
    ("%d.%m.%Y", None, True),
]


def column(reader: TimeReader, texts: list[str]) -> list[int | None]:
    array = pa.array(texts, pa.string())
    offsets = np.frombuffer(array.buffers()[1], np.int32, len(texts) + 1).astype(np.int64)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    moments, bad = TimeColumns(reader).read(data, offsets[:-1], np.diff(offsets))
    return [None if wrong else int(moment) for moment, wrong in zip(moments, bad, strict=True)]


@st.composite
def time_texts(draw: st.DrawFn) -> str:
    moment = draw(st.datetimes(min_value=datetime(1, 1, 1)))
    shape = draw(st.sampled_from(["iso", "local", "slashes", "digits", "date", "dots"]))
    year = f"{moment.year:04}"
    text = {
        "iso": moment.isoformat() + draw(st.sampled_from(["Z", "z", "+05:30", "-00:00", "+23:59", "+24:00", ""])),
        "local": f"{year}-{moment:%m-%d %H:%M:%S}",
        "slashes": f"{moment:%d/%m}/{year} {moment:%H:%M:%S}.{moment.microsecond}",
        "digits": f"{year}{moment:%m%d%H}",
        "date": f"{year}-{moment:%m-%d}",
        "dots": f"{moment:%d.%m}.{year}",
    }[shape]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from([*"0123456789:-+.TtZz é", ""])) + text[at + draw(st.integers(0, 1)) :]
    return text


@pytest.mark.parametrize("kind", READERS)
@given(texts=st.lists(time_texts(), min_size=1, max_size=20))
@settings(max_examples=40)
def test_one_by_one_and_as_a_column_times_read_the_same(
    kind: tuple[str | None, str | None, bool], texts: list[str]
) -> None:
    assert column(TimeReader(*kind), texts) == [TimeReader(*kind).read(text) for text in texts]


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_datetime_writes_is_read_back(moment: datetime) -> None:
    assert TimeReader().read(moment.isoformat()) == (moment - EPOCH) // timedelta(microseconds=1)


def test_dates_are_days() -> None:
    for day in (date(1, 1, 1), date(1969, 12, 31), date(2000, 2, 29), date(9999, 12, 31)):
        assert TimeReader(is_date=True).read(day.isoformat()) == (day - date(1970, 1, 1)).days


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+01", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "10000-01-01T00:00:00Z",
        "-2026-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "２026-01-01T00:00:00Z", "",
        " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z ", "1767225600",
    ],
)  # fmt: skip
def test_what_is_no_rfc3339_moment_is_refused(text: str) -> None:
    assert TimeReader().read(text) is None
    assert column(TimeReader(), [text]) == [None]


def test_years_count_in_utc() -> None:
    assert TimeReader().read("0000-12-31T23:00:00-02:00") == TimeReader().read("0001-01-01T01:00:00Z")
    assert TimeReader().read("9999-12-31T23:59:59.999999Z") is not None


def test_a_repeated_local_time_is_the_first_and_a_skipped_one_never_was() -> None:
    new_york = TimeReader("%Y-%m-%d %H:%M:%S", "America/New_York")
    repeated, skipped = "2024-11-03 01:30:00", "2024-03-10 02:30:00"
    assert new_york.read(repeated) == TimeReader().read("2024-11-03T05:30:00Z")
    assert new_york.read(skipped) is None
    assert column(new_york, [repeated, skipped]) == [new_york.read(repeated), None]


CHANGES = [
    ("America/St_Johns", "2005-04-03T01:05:00", "2005-04-03T03:35:00Z"),
    ("America/St_Johns", "2005-04-03T00:05:00", None),
    ("America/St_Johns", "2005-10-30T00:05:00", "2005-10-30T03:35:00Z"),
    ("Australia/Lord_Howe", "2024-10-06T02:15:00", None),
    ("Australia/Lord_Howe", "2024-10-06T02:30:00", "2024-10-05T15:30:00Z"),
    ("Africa/Monrovia", "1972-01-07T00:44:00", None),
]


@pytest.mark.parametrize(("zone", "local", "moment"), CHANGES)
def test_clocks_that_change_at_odd_minutes_are_read_right(zone: str, local: str, moment: str | None) -> None:
    wanted = None if moment is None else TimeReader().read(moment)
    beside = "2000-01-01T00:00:00"
    reader = TimeReader(None, zone)
    assert reader.read(local) == wanted
    assert column(reader, [local, beside])[0] == wanted
    assert column(TimeReader(None, zone), [beside, local])[1] == wanted


def test_column_and_single_reader_agree_on_every_minute_around_every_change() -> None:
    for zone in ("America/St_Johns", "Asia/Gaza", "Antarctica/Casey", "Pacific/Kiritimati", "Europe/Dublin"):
        reader = TimeReader(None, zone)
        for year in (1973, 1994, 2005, 2010):
            days = [datetime(year, 1, 1) + timedelta(days=day) for day in range(365)]
            texts = [(day + timedelta(minutes=m)).isoformat() for day in days for m in (0, 1, 5, 59, 61, 125, 1439)]
            assert column(reader, texts) == [reader.read(text) for text in texts]
