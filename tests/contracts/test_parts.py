"""The parts of a contract fit together: sources, renames, silver, partitions and dead letters."""

from __future__ import annotations

import pytest
from contract_texts import MINIMAL, contract, faults_of, the_fault, with_fields

FIELDS = (
    "id: {type: string}",
    "at: {type: timestamp}",
    "day: {type: date}",
    "flag: {type: boolean}",
    "ratio: {type: double}",
    "blob: {type: binary}",
    'tags: {type: "array<string>"}',
    'props: {type: "map<string,string>"}',
    'place: {type: "struct<x: int>"}',
)
AFTER_FIELDS = 5 + len(FIELDS)


def with_part(*lines: str) -> str:
    return with_fields(*FIELDS, more="".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("silver", "said"),
    [
        ("key: [id, id]", "silver.key[1]: `id` is in the key twice"),
        ("key: []", "silver.key: it is empty; there must be one at least"),
        ("key: id", "silver.key: `id` is not a list"),
        ("key: [idd]", "silver.key[0]: there is no field `idd`; did you mean `id`?"),
        ("key: [ID]", "silver.key[0]: `ID` is not a name"),
        ("key: [props]", "silver.key[0]: `props` is a map, which cannot be in a key"),
        ("key: [id, tags]", "silver.key[1]: `tags` is an array, which cannot be in a key"),
        ("key: [place]", "silver.key[0]: `place` is a struct, which cannot be in a key"),
        ("key: [id], event_time_stable: true", "silver.event_time_stable: `event_time_stable` has no meaning without"),
        ("key: [id], event_time: id", "silver.event_time: `id` is not a timestamp or a date"),
        ("key: [id], event_time: att", "silver.event_time: there is no field `att`; did you mean `at`?"),
        ("key: [id], on_duplicate: keep_latest", "silver: `order_by` goes with `on_duplicate: keep_latest`, and only"),
        ("key: [id], order_by: at", "silver: `order_by` goes with `on_duplicate: keep_latest`, and only with it"),
        (
            "key: [id], on_duplicate: keep_latest, order_by: props",
            "silver.order_by: `props` is a map, which has no order",
        ),
        ("key: [id], on_duplicate: keep_latest, order_by: flag", "silver.order_by: `flag` is a boolean, which has no"),
        ("key: [id], on_duplicate: keep_latest, order_by: blob", "silver.order_by: `blob` is a binary, which has no"),
        ("key: [id], on_duplicate: keep_latest, order_by: nope", "silver.order_by: there is no field `nope`"),
    ],
)
def test_silver_that_has_no_meaning_is_refused_in_its_own_line(silver: str, said: str) -> None:
    (fault,) = faults_of(with_part(f"silver: {{{silver}}}"))
    assert fault[0] == AFTER_FIELDS
    assert fault[1].startswith(said)


@pytest.mark.parametrize(
    ("bronze", "silver", "said"),
    [
        (
            "9d",
            "",
            "silver: bronze lets rows go after 9d, and silver is rebuilt from bronze: silver needs `keep_rows: 9d`",
        ),
        ("9d", ", keep_rows: 10d", "silver.keep_rows: `10d` is longer than bronze keeps its rows (9d), and silver is"),
    ],
)
def test_silver_keeps_no_row_longer_than_bronze(bronze: str, silver: str, said: str) -> None:
    ((_, message),) = faults_of(with_part(f"bronze: {{keep_rows: {bronze}}}", f"silver: {{key: [id]{silver}}}"))
    assert message.startswith(said)


def test_bronze_may_keep_its_rows_as_long_as_silver_or_longer_or_for_ever() -> None:
    for bronze in ("keep_rows: 240h", "keep_rows: 11d", ""):
        assert contract(with_part(f"bronze: {{{bronze}}}", "silver: {key: [id], keep_rows: 10d}")).silver is not None
    assert contract(with_part("bronze: {keep_rows: 9d}")).bronze.keep_rows == "9d", "without silver, nobody is rebuilt"


def test_a_fault_in_a_long_section_has_the_line_of_its_key() -> None:
    text = with_part(
        "silver:", "  key: [id,", "        idd]", "  event_time: id", "bronze:", "  partition_by:", "  - nope"
    )
    assert [line - AFTER_FIELDS for line, _ in faults_of(text)] == [2, 3, 6]


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        ("props", "`props` is a map, and cannot be partitioned by"),
        ("tags", "`tags` is an array, and cannot be partitioned by"),
        ("'bucket(4, place)'", "`place` is a struct, and cannot be partitioned by"),
        ("nope", "there is no column `nope`"),
        ("_ingestd_at", "there is no column `_ingestd_at`; did you mean `_ingested_at`?"),
        ("days(id)", "days(…) needs a timestamp or a date, and `id` is a string"),
        ("hours(day)", "hours(…) needs a timestamp, and `day` is a date"),
        ("hours(_source)", "hours(…) needs a timestamp or a date, and `_source` is a string"),
        ("'bucket(4, flag)'", "bucket(…) cannot take a boolean, and `flag` is one"),
        ("'bucket(4, ratio)'", "bucket(…) cannot take a double, and `ratio` is one"),
        (
            "'bucket(0, id)'",
            "`bucket(0, id)` is not a partition; write days(_ingested_at), bucket(16, user_id) or a column",
        ),
        ("dayz(at)", "`dayz(at)` is not a partition"),
        ("'days(at); DROP TABLE x'", "is not a partition"),
        ("5", "`5` is not a text"),
    ],
)
def test_a_partition_that_no_table_can_have_is_refused(partition: str, said: str) -> None:
    line, message = the_fault(with_part(f"bronze: {{partition_by: [{partition}]}}"))
    assert line == AFTER_FIELDS
    assert message.startswith("bronze.partition_by[0]: ")
    assert said in message


@pytest.mark.parametrize(
    "pair", ["id, id", "days(at), days(at)", "hours(at), days(at)", "'bucket(4, id)', 'bucket(8, id)'"]
)
def test_one_column_is_not_partitioned_by_twice_in_the_same_way(pair: str) -> None:
    (fault,) = faults_of(with_part(f"bronze: {{partition_by: [{pair}]}}"))
    assert "twice" in fault[1]


@pytest.mark.parametrize(
    "partitions",
    [
        "",
        "id",
        "days(at)",
        "months(day)",
        "hours(_arrived_at)",
        "days(_ingested_at), 'bucket(16, id)'",
        "_batch, _contract",
    ],
)
def test_a_table_can_be_partitioned_in_many_ways_or_not_at_all(partitions: str) -> None:
    assert contract(with_part(f"bronze: {{partition_by: [{partitions}]}}"))


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("at_day", "days(at)"),
        ("at_hour", "hours(at)"),
        ("at_month", "months(at)"),
        ("day_year", "years(day)"),
        ("id_bucket", "'bucket(4, id)'"),
        ("id_value", "id"),
    ],
)
def test_a_field_cannot_have_the_name_that_bronze_gives_a_partition(name: str, partition: str) -> None:
    text = with_fields(*FIELDS, f"{name}: {{type: int}}", more=f"bronze: {{partition_by: [{partition}]}}\n")
    why = f"`{name}` is the name of a partition, because bronze is partitioned by {partition.strip(chr(39))}"
    assert the_fault(text) == (AFTER_FIELDS, f"fields.{name}: {why}; take another, and say `from: {name}`")
    other = {"at_day": "days(day)"}.get(name, "days(at)")
    assert contract(text.replace(f"[{partition}]", f"[{other}]"))


def test_no_column_of_silver_can_have_the_name_of_its_partition() -> None:
    silver = "silver: {key: [id], event_time: at}\n"
    assert the_fault(with_fields(*FIELDS, "at_day: {type: int, from: x}", more=silver)) == (
        AFTER_FIELDS,
        "fields.at_day: `at_day` is the name of a partition, because silver is partitioned by days(at); "
        "take another, and say `from: x`",
    )
    derived = silver.replace("at}", "at, columns: {at_day: day}}")
    assert the_fault(with_part(derived)) == (
        AFTER_FIELDS,
        "silver.columns.at_day: `at_day` is the name of a partition, because silver is partitioned by days(at); "
        "take another",
    )
    assert contract(with_part(derived.replace("at_day", "at_month"), "bronze: {partition_by: [months(at)]}"))
    assert contract(with_fields(*FIELDS, "at_day: {type: int}", more="silver: {key: [id]}\n"))


def test_two_fields_cannot_be_read_from_one_name() -> None:
    assert the_fault(with_fields("a: {type: int}", "b: {type: int, from: a}")) == (
        6,
        "fields.b: `a` and `b` are both read from `a`",
    )
    text = with_fields("a: {type: int, from: X}", "b: {type: int, from: X}", "c: {type: int, from: X}")
    assert [line for line, _ in faults_of(text)] == [6, 7]


def test_fields_may_swap_their_names_with_the_source() -> None:
    assert contract(with_fields("a: {type: int, from: b}", "b: {type: int, from: a}")).source_names == {
        "a": "b",
        "b": "a",
    }


@pytest.mark.parametrize(
    ("fields", "line", "said"),
    [
        (("a: {type: int, was: b}", "b: {type: int}"), 5, "`was: b` names a field that is still there"),
        (("a: {type: int, was: a}",), 5, "`was: a` is the field itself"),
        (("a: {type: int, was: c}", "b: {type: int, was: c}"), 6, "`a` says `was: c` too, and only one can be it"),
    ],
)
def test_a_rename_that_cannot_have_been_is_refused(fields: tuple[str, ...], line: int, said: str) -> None:
    found, message = the_fault(with_fields(*fields))
    assert found == line
    assert said in message


@pytest.mark.parametrize("path", ["landing/x", "landing/a b/c", "/data/landing", "other", "landing/2026"])
def test_files_may_be_anywhere_that_is_not_the_lakes_own(path: str) -> None:
    assert contract(MINIMAL.replace("landing/things", path)).source.files == path


@pytest.mark.parametrize(
    "path",
    [
        *(".", "..", "../x", "a/../b", "/", "''", "' '", "' x'", "s3://b/x", "S3://b/x", "file:/x", "~/x"),
        *("a*", "'a?'", "'[a]'", "'{a,b}'", "a\\b", '"a\\n"', '"a\\0"'),
        *("tables", "tables/x", "catalog.db", "checkpoints", "receipts", "run/x"),
    ],
)
def test_a_path_that_is_no_folder_of_files_is_refused(path: str) -> None:
    line, message = the_fault(MINIMAL.replace("landing/things", path))
    assert line == 3
    assert message.endswith("write landing/events")


@pytest.mark.parametrize("every", ["60s", "1m", "15m", "24h", "1d"])
def test_a_source_can_have_a_timetable(every: str) -> None:
    assert contract(MINIMAL.replace("landing/things", f"landing/things, every: {every}")).source.every == every


@pytest.mark.parametrize(
    ("every", "said"),
    [
        ("59s", "`59s` is not from 1m to 24h, and nothing is drained on any other timetable; write 15m"),
        ("25h", "`25h` is not from 1m to 24h, and nothing is drained on any other timetable; write 15m"),
        ("hourly", "`hourly` is not a duration; write 90s, 15m, 1h or 7d"),
        ("15", "`15` is not a text (in quotes, if it looks like something else)"),
    ],
)
def test_a_timetable_that_nobody_keeps_is_refused(every: str, said: str) -> None:
    text = MINIMAL.replace("landing/things", f"landing/things, every: {every}")
    assert the_fault(text) == (3, f"source.every: {said}")


@pytest.mark.parametrize(
    ("words", "share", "records"),
    [
        ("pause_at: 20%", 0.2, 1000),
        ("pause_at: 0.2, over: 1 record", 0.2, 1),
        ("pause_at: 0%, over: 1 records", 0.0, 1),
        ("pause_at: 99.999999%, over: 999999999 records", 0.99999999, 999_999_999),
        ("pause_at: 0", 0.0, 1000),
        ("keep: 90d, auto_replay: true", None, 1000),
        ("pause_at: null", None, 1000),
    ],
)
def test_dead_letters_can_have_a_budget(words: str, share: float | None, records: int) -> None:
    letters = contract(MINIMAL + f"dead_letters: {{{words}}}\n").dead_letters
    assert (letters.share, letters.over_records) == (share, records)


NOT_A_COUNT = "is not a number of records; write 1000 records"
ALL = "is all of them: no share is larger, so that nothing would ever pause; write 20%, or leave it out"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("over: 500 records", "over: `over` has no meaning without `pause_at`"),
        ("over: 1000 records", "over: `over` has no meaning without `pause_at`"),
        ("pause_at: null, over: 5 records", "over: `over` has no meaning without `pause_at`"),
        ("pause_at: 100%", f"pause_at: `100%` {ALL}"),
        ("pause_at: 1", f"pause_at: `1` {ALL}"),
        ("pause_at: 1.0", f"pause_at: `1.0` {ALL}"),
        ("pause_at: 20", "pause_at: `20` is not a share; write 5% or 0.05"),
        ("pause_at: true", "pause_at: `true` is not a share; write 5% or 0.05"),
        ("pause_at: [5%]", "pause_at: `['5%']` is not one value: a text, a number, true or false"),
        ("pause_at: 5%, over: 0 records", f"over: `0 records` {NOT_A_COUNT}"),
        ("pause_at: 5%, over: 007 records", f"over: `007 records` {NOT_A_COUNT}"),
        ("pause_at: 5%, over: 2 record", f"over: `2 record` {NOT_A_COUNT}"),
        ("pause_at: 5%, over: 1000000000 records", f"over: `1000000000 records` {NOT_A_COUNT}"),
        ("pause_at: 5%, over: ５ records", f"over: `５ records` {NOT_A_COUNT}"),
        ("pause_at: 5%, over: 1h", f"over: `1h` {NOT_A_COUNT}"),
        ("pause_at: 5%, over: 1000", "over: `1000` is not a text (in quotes, if it looks like something else)"),
        ("keep: ever", "keep: `ever` is not a duration; write 90s, 15m, 1h or 7d"),
        ("auto_replay: yes", "auto_replay: `yes` is not true or false"),
    ],
)
def test_a_budget_that_has_no_meaning_is_refused_in_its_own_line(words: str, said: str) -> None:
    assert the_fault(with_part(f"dead_letters: {{{words}}}")) == (AFTER_FIELDS, f"dead_letters.{said}")
