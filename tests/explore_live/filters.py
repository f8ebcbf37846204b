"""Conditions that a table of `stories.py` is asked by: on columns that are renamed, widened, partitioned by or null."""

from __future__ import annotations

from readings import Filter

LONG = "text of more than sixteen letters "  # bounds in manifests are cut there
_DAYS = "moment >= timestamptz '1970-01-01 00:00:00+00' and moment < timestamptz '1970-01-02 00:00:00+00'"
FILTERS = (
    Filter("id", "id in (1, 2, 20, 103, 142, 160, 220)"),
    Filter("an_int", "an_int = 7"),
    Filter("an_int", "an_int > 2147483646"),
    Filter("a_number", "a_number in (-3, 7, 2147483648)"),
    Filter("a_number", "a_number between -1 and 2147483647"),
    Filter("a_number", "a_number is null"),
    Filter("a_number", "a_number not in (1, 2, 7)"),
    Filter("a_float", "a_float between 1.0 and 2.0"),
    Filter("a_float", "a_float < 0"),
    Filter("a_float", "a_float = 0.0"),
    Filter("a_double", "isnan(a_double)"),
    Filter("a_double", "a_double = 0.1"),
    Filter("a_decimal", "a_decimal < 0"),
    Filter("a_decimal", "a_decimal = 7"),
    Filter("a_decimal", "a_decimal >= 12345678.90"),
    Filter("a_date", "a_date < date '1970-01-01'"),
    Filter("a_date", "a_date = date '1969-12-31'"),
    Filter("a_date", "a_date between date '1970-01-01' and date '1970-01-03'"),
    Filter("a_string", "a_string = 'one'"),
    Filter("a_string", "a_string like 'text%'"),
    Filter("a_string", "a_string is null"),
    Filter("added", "added = 'one' or added is null"),
    Filter("a_boolean", "a_boolean is not null"),
    Filter("a_text", f"a_text in ('{LONG}0', 'merged', 'one')"),
    Filter("a_text", f"a_text > '{LONG}0'"),
    Filter("a_text", "a_text is null"),
    Filter("a_moment", "a_moment >= timestamptz '2026-03-01 12:00:00+00'"),
    Filter("moment", _DAYS),
    Filter("moment", "moment < timestamptz '1970-01-01 00:00:00+00'"),
    Filter("moment", "moment = timestamptz '2026-03-01 12:00:00.123456+00'"),
    Filter("moment", "moment is null"),
    Filter("moment", "cast(moment as date) = date '1970-01-01'"),
    Filter("a_struct", "a_struct.x > 2"),
    Filter("a_binary", "a_binary is not null"),
    Filter("moment a_number", "moment is not null and a_number < 0"),
    Filter("moment a_text", f"a_text = '{LONG}1' and {_DAYS}"),
)
