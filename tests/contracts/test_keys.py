"""Every key of a contract: what it takes, and what is said about anything else."""

from __future__ import annotations

import copy
import pickle
from typing import get_args

import pydantic
import pytest
from contract_texts import MINIMAL, SHIPPED, contract, faults_of, the_fault, with_field, with_fields

from smelter.contracts import ContractInvalid, load_contract, parse_contract
from smelter.contracts.checks import CheckKind
from smelter.contracts.write import contract_text

EVERY_KEY = """
dataset: things
version: 3
about: One row per thing.
fields:
  id:    {type: string, required: true, about: The id., from: ID, pattern: "[a-z]+", min_length: 1, max_length: 9}
  count: {type: int, min: 0, max: 10, was: number}
  kind:  {type: string, one_of: [x, y]}
  at:    {type: timestamp, zone: Europe/Berlin, format: "%d.%m.%Y %H:%M", not_after_arrival: 2h}
unknown_fields: ignore
source: {files: landing/things, every: 15m}
bronze: {partition_by: [days(_ingested_at), "bucket(16, id)"], keep_rows: 800d}
silver:
  key: [id]
  on_duplicate: keep_latest
  order_by: at
  event_time: at
  event_time_stable: true
  columns: {half: "try_cast(count as double) / 2"}
  keep_rows: 400d
quality:
- {name: ids are there, check: not_null, column: id}
- {name: ids are unique, check: unique, columns: [id]}
- {name: kinds, check: in_set, column: kind, values: [x, y], on_failure: warn}
- {name: counts, check: between, column: count, min: 0, max: 10}
- {name: rows, check: row_count, min: 1, max: 1000000}
- {name: few without kind, check: null_share, column: kind, max_share: 5%}
- {name: fresh, check: freshness, column: at, max_age: 2h}
- {name: spelling, check: regex, column: id, pattern: "[a-z]+"}
- {name: known, check: exists_in, column: id, dataset: others, field: id}
- {name: halves, check: sql, expression: half * 2 = count}
dead_letters: {pause_at: 20%, over: 5000 records, keep: 90d, auto_replay: true}
maintenance: {snapshots: 7d, most_snapshots: 50, target_file: 64MB, quiet: 5m, orphans: 2d, trash: 3d}
"""


def test_every_key_is_read() -> None:
    things = contract(EVERY_KEY)
    assert (things.dataset, things.version, things.label) == ("things", 3, "things@3")
    assert (things.about, things.unknown_fields) == ("One row per thing.", "ignore")
    assert list(things.fields) == ["id", "count", "kind", "at"]
    id_, count, kind, at = things.fields.values()
    assert (id_.required, id_.about, id_.from_) == (True, "The id.", "ID")
    assert (id_.pattern, id_.min_length, id_.max_length) == ("[a-z]+", 1, 9)
    assert (count.min, count.max, count.was, kind.one_of) == (0, 10, "number", ("x", "y"))
    assert (at.zone, at.format, at.not_after_arrival) == ("Europe/Berlin", "%d.%m.%Y %H:%M", "2h")
    assert (things.source.files, things.source.every) == ("landing/things", "15m")
    assert things.bronze.partition_by == ("days(_ingested_at)", "bucket(16, id)")
    assert things.bronze.keep_rows == "800d"
    assert things.silver is not None
    assert things.silver.model_dump() == {
        "key": ("id",),
        "on_duplicate": "keep_latest",
        "order_by": "at",
        "event_time": "at",
        "event_time_stable": True,
        "columns": {"half": "try_cast(count as double) / 2"},
        "keep_rows": "400d",
    }
    assert [check.check for check in things.quality] == list(get_args(CheckKind))
    assert [check.name for check in things.quality if check.on_failure == "warn"] == ["kinds"]
    letters = things.dead_letters
    assert (letters.pause_at, letters.over, letters.keep, letters.auto_replay) == ("20%", "5000 records", "90d", True)
    assert (letters.share, letters.over_records) == (0.2, 5000)
    assert things.maintenance.model_dump() == {
        "snapshots": "7d",
        "most_snapshots": 50,
        "target_file": "64MB",
        "quiet": "5m",
        "orphans": "2d",
        "trash": "3d",
    }
    assert things.source_names == {"id": "ID", "count": "count", "kind": "kind", "at": "at"}


def test_what_is_not_said_has_a_default() -> None:
    things = contract(MINIMAL)
    assert (things.about, things.unknown_fields, things.silver) == ("", "dead_letter", None)
    assert (things.bronze.partition_by, things.bronze.keep_rows) == (("days(_ingested_at)",), None)
    assert things.source.every is None
    care = things.maintenance
    assert (care.snapshots, care.most_snapshots, care.target_file) == ("24h", 100, "128MB")
    assert (care.quiet, care.orphans, care.trash) == ("10m", "3d", "7d")
    letters = things.dead_letters
    assert (letters.share, letters.over_records, letters.keep, letters.auto_replay) == (None, 1000, None, False)
    assert things.fields["a"].required is False


@pytest.mark.parametrize("dataset", ["events", "taxi_trips"])
def test_a_shipped_contract_loads(dataset: str) -> None:
    assert load_contract(SHIPPED / f"{dataset}.yaml").label == f"{dataset}@1"


def test_the_taxi_contract_has_the_seventeen_fields_of_the_city() -> None:
    trips = load_contract(SHIPPED / "taxi_trips.yaml")
    assert {"VendorID", "tpep_pickup_datetime", "RatecodeID", "PULocationID"} <= set(trips.source_names.values())
    assert len(trips.fields) == 17
    assert trips.fields["pickup_at"].zone == "America/New_York"


def test_a_contract_is_frozen_to_its_leaves() -> None:
    things = contract(EVERY_KEY)
    with pytest.raises(pydantic.ValidationError):
        things.version = 4
    with pytest.raises(pydantic.ValidationError):
        things.fields["id"].required = False
    for change in ("fields['new'] = None", "fields.pop('id')", "fields.clear()", "source_names.update(id='x')"):
        with pytest.raises(TypeError, match="frozen"):
            exec(f"things.{change}", {"things": things})
    assert contract(EVERY_KEY) == things


def test_a_contract_can_be_copied_pickled_and_hashed() -> None:
    things = contract(EVERY_KEY)
    assert hash(things) == hash(contract(EVERY_KEY))
    assert copy.deepcopy(things) == pickle.loads(pickle.dumps(things)) == things
    assert pickle.loads(pickle.dumps(things)).fields["id"].kind == things.fields["id"].kind


@pytest.mark.parametrize("text", [MINIMAL, EVERY_KEY, MINIMAL + "dead_letters: {pause_at: 0.2}\n"])
def test_a_contract_is_the_same_after_its_way_into_a_lake_and_back(text: str) -> None:
    things = contract(text)
    kept = things.model_dump_json(by_alias=True, exclude_unset=True)
    back = type(things).model_validate_json(kept)
    assert back == things
    assert back.model_dump_json(by_alias=True, exclude_unset=True) == kept
    assert contract(contract_text(things)) == things


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (MINIMAL + "abuot: x\n", 6, "there is no key `abuot`; did you mean `about`? (allowed: about, bronze, dataset,"),
        (MINIMAL + "gold: []\n", 6, "there is no key `gold` (allowed: about,"),
        (MINIMAL + "silver: {kez: [a]}\n", 6, "there is no key `kez` in `silver`; did you mean `key`?"),
        (MINIMAL + "bronze: {partition: [a]}\n", 6, "`partition` in `bronze`; did you mean `partition_by`?"),
        (MINIMAL + "maintenance: {snapshot: 1h}\n", 6, "in `maintenance`; did you mean `snapshots`? (allowed: most_s"),
        (MINIMAL + "dead_letter: {keep: 1d}\n", 6, "there is no key `dead_letter`; did you mean `dead_letters`?"),
        (MINIMAL + "dead_letters: {pause: 1%}\n", 6, "in `dead_letters`; did you mean `pause_at`? (allowed: auto_rep"),
        (MINIMAL.replace("files", "file"), 3, "there is no key `file` in `source`; did you mean `files`?"),
        (with_field("type: int, Required: true"), 5, "in `fields.a`; did you mean `required`? (allowed: about, format"),
        (with_field("type: int, from_: b"), 5, "there is no key `from_` in `fields.a`; did you mean `from`?"),
        (with_fields("a: {type: int}", "b:", "  type: int", "  lenght: 3"), 8, "there is no key `lenght`"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_spelling(text: str, line: int, said: str) -> None:
    assert [found for found, message in faults_of(text) if said in message] == [line]


@pytest.mark.parametrize("key", ["dataset", "version", "source", "fields"])
def test_a_missing_key_is_named(key: str) -> None:
    text = "\n".join(line for line in MINIMAL.splitlines() if not line.startswith(key))
    text = text.replace("\n  a: {type: string}", "") if key == "fields" else text
    assert the_fault(text + "\n") == (1, f"`{key}` is missing")


def test_a_missing_key_inside_a_part_has_the_line_of_the_part() -> None:
    assert the_fault(with_field("required: true")) == (5, "`fields.a.type` is missing")
    assert the_fault(MINIMAL + "silver: {event_time: a}\n") == (6, "`silver.key` is missing")


def test_all_faults_are_told_at_once_in_the_order_of_their_lines() -> None:
    text = with_fields(
        "a: {type: strng}", "b: {type: int, min: x, max: true}", "B: {type: int}", more="unknown_fields: drop\n"
    )
    assert [line for line, _ in faults_of(text)] == [5, 6, 6, 7, 8]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version: 1", "version: true", "version: `true` is not a whole number"),
        ("version: 1", "version: 1.0", "version: `1.0` is not a whole number"),
        ("version: 1", "version: '1'", "version: `1` is not a whole number"),
        ("version: 1", "version: null", "version: `null` is not a whole number"),
        ("version: 1", "version: 0", "version: `0` is not allowed: it must be greater than or equal to 1"),
        ("version: 1", "version: 2147483648", "it must be less than or equal to 2147483647"),
        ("dataset: things", "dataset: 5", "dataset: `5` is not a text (in quotes, if it looks like something else)"),
        ("source: {files: landing/things}", "source: landing/things", "source: `landing/things` is not a mapping"),
        ("files: landing/things", "files: [a]", "source.files: `['a']` is not a text"),
        ("{type: string}", "string", "fields.a: `string` is not a mapping; write {type: string}"),
        ("{type: string}", "", "fields.a: `null` is not a mapping"),
        ("{type: string}", "{type: 5}", "fields.a.type: `5` is not a text"),
        ("{type: string}", "{type: string, required: yes}", "fields.a.required: `yes` is not true or false"),
        ("{type: string}", "{type: string, required: 1}", "fields.a.required: `1` is not true or false"),
        ("{type: string}", "{type: string, about: 5}", "fields.a.about: `5` is not a text"),
        ("{type: string}", "{type: string, min_length: true}", "fields.a.min_length: `true` is not a whole number"),
        ("{type: string}", "{type: string, max_length: 1.0}", "fields.a.max_length: `1.0` is not a whole number"),
        ("{type: string}", "{type: string, min_length: -1}", "it must be greater than or equal to 0"),
        ("{type: string}", "{type: string, one_of: a}", "fields.a.one_of: `a` is not a list"),
        ("{type: string}", "{type: string, one_of: []}", "fields.a.one_of: it is empty; there must be one at least"),
        ("{type: string}", "{type: string, one_of: [null]}", "fields.a.one_of[0]: `null` is not one value: a text, a"),
        ("{type: string}", "{type: string, one_of: [[a]]}", "is not one value: a text, a number, true or false"),
        ("{type: string}", "{type: int, min: {a: 1}}", "is not one value: a text, a number, true or false"),
    ],
)
def test_a_value_of_the_wrong_kind_is_said_once_and_in_plain_words(old: str, new: str, said: str) -> None:
    assert old in MINIMAL
    line, message = the_fault(MINIMAL.replace(old, new))
    assert said in message
    assert line == 1 + MINIMAL[: MINIMAL.index(old)].count("\n")


def test_fields_must_be_a_mapping_with_one_field_at_least() -> None:
    assert the_fault(MINIMAL.replace("\n  a: {type: string}", " {}")) == (
        4,
        "fields: it is empty; there must be one at least",
    )
    assert the_fault(MINIMAL.replace("\n  a: {type: string}", " []")) == (4, "fields: `[]` is not a mapping")


def test_a_word_from_a_list_is_refused_with_the_nearest() -> None:
    assert the_fault(MINIMAL + "unknown_fields: ignored\n") == (
        6,
        "unknown_fields: `ignored` is not one of dead_letter, ignore; did you mean `ignore`?",
    )
    assert the_fault(MINIMAL + "silver: {key: [a], on_duplicate: keep_last}\n") == (
        6,
        "silver.on_duplicate: `keep_last` is not one of keep_first, keep_latest; did you mean `keep_latest`?",
    )


@pytest.mark.parametrize("duration", ["0h", "1w", "h", "1.5h", "-1h", "1 h", "36501d", "999999999d", "1H", "１h"])
def test_a_duration_is_a_number_and_a_unit_up_to_a_hundred_years(duration: str) -> None:
    _, message = the_fault(with_field(f"type: timestamp, not_after_arrival: {duration}"))
    assert "not a duration; write 90s, 15m, 1h or 7d" in message or "longer than 36500d" in message


@pytest.mark.parametrize("size", ["128mb", "0MB", "1.5GB", "9999999GB", "'128'", "MB"])
def test_a_size_is_a_number_and_a_unit(size: str) -> None:
    assert "is not a size; write 128MB" in the_fault(MINIMAL + f"maintenance: {{target_file: {size}}}\n")[1]


def test_the_error_of_a_contract_says_what_became_of_the_data_and_what_to_do() -> None:
    with pytest.raises(ContractInvalid) as refused:
        parse_contract(with_field("type: strng"), "dir/things.yaml")
    what, data, next_step = str(refused.value).splitlines()
    assert what.startswith("dir/things.yaml:5: fields.a.type: `strng` is not a type; did you mean `string`?")
    assert data == "  data: nothing was read or changed"
    assert next_step == "  next: mend the file, then: smelt contract check dir/things.yaml"
