"""A table whose contract changes under it: Spark, PyIceberg and DuckDB read old and new rows the same."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from datasets import Dataset, by_duckdb, by_pyiceberg, by_spark, contract_of

from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.lake.evolution import apply_contract
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


def changed(data: Dataset, fields: str, more: str = "", *, drop: tuple[str, ...] = (), consent: bool = False) -> None:
    """Apply the next version of the dataset's contract."""
    contract = contract_of(fields, more, name=data.name, version=data.contract.version + 1)
    apply_contract(data.lake, contract, drop=drop, from_now_on=consent)
    data.contract = contract


def read_alike(data: Dataset, spark: SparkSession, names: list[str], where: str = "") -> list[dict[str, Any]]:
    """The contract's columns as all three readers see them."""
    found = [
        [{name: row[name] for name in names} for row in rows]
        for rows in (
            by_pyiceberg(data, where),
            by_spark(spark, data, where=where or "true"),
            by_duckdb(data, where=where or "true"),
        )
    ]
    assert found[0] == found[1] == found[2]
    return found[0]


def ids(data: Dataset) -> dict[str, int]:
    return {field.name: field.field_id for field in load_table(data.lake, BRONZE, data.name).schema().fields}


WIDER: list[tuple[str, str, Any, Any, str, list[Any]]] = [
    ("int", "long", 7, 2**40, "a > 100", [2**40]),
    ("int", "long", 7, 2**40, "a < 100", [7]),
    ("float", "double", 0.5, 1e300, "a > 1", [1e300]),
    ("float", "double", 0.5, 1e300, "a < 1", [0.5]),
    ("decimal(4,2)", "decimal(12,2)", 12.25, 1234567890.25, "a > 100", [Decimal("1234567890.25")]),
    ("decimal(4,2)", "decimal(38,2)", 12.25, 1234567890.25, "a < 99", [Decimal("12.25")]),
    ("array<int>", "array<long>", [1], [2**40], "", [[1], [2**40]]),
    ("map<string,int>", "map<string,long>", {"x": 1}, {"y": 2**40}, "", [{"x": 1}, {"y": 2**40}]),
    (
        "struct<x: int not null>",
        "struct<y: string, x: long>",
        {"x": 1},
        {"x": 2**40, "y": "new"},
        "",
        [{"y": None, "x": 1}, {"y": "new", "x": 2**40}],
    ),
]


@pytest.mark.parametrize(("before", "after", "old", "new", "where", "expected"), WIDER)
def test_a_wider_column_keeps_its_values(
    lake: Lake, spark: SparkSession, before: str, after: str, old: Any, new: Any, where: str, expected: list[Any]
) -> None:
    data = Dataset(lake, contract_of(f'a: {{type: "{before}"}}'))
    data.take([{"a": old}])
    number = ids(data)["a"]
    changed(data, f'a: {{type: "{after}"}}')
    data.take([{"a": new}])
    assert [row["a"] for row in read_alike(data, spark, ["a"], where)] == expected
    assert ids(data)["a"] == number


@pytest.mark.parametrize(("before", "after", "old", "new"), [(b, a, o, n) for b, a, o, n, _, _ in (WIDER[0], WIDER[4])])
@pytest.mark.parametrize("partition", ["a", "bucket(4, a)"])
def test_a_column_that_the_table_is_partitioned_by_may_become_wider(
    lake: Lake, spark: SparkSession, before: str, after: str, old: Any, new: Any, partition: str
) -> None:
    more = f'bronze: {{partition_by: ["{partition}"]}}\n'
    data = Dataset(lake, contract_of(f'a: {{type: "{before}"}}', more))
    data.take([{"a": old}])
    with load_table(lake, BRONZE, data.name).transaction() as transaction:
        transaction.set_properties({"commit.manifest.min-count-to-merge": "2"})  # so that old entries are written anew
    changed(data, f'a: {{type: "{after}"}}', more)
    data.take([{"a": new}, {"a": old}])
    data.take([{"a": old}])
    found = [row["a"] for row in read_alike(data, spark, ["a"])]
    assert [float(value) for value in found] == [old, new, old, old]
    literal = found[0]
    assert [row["a"] for row in read_alike(data, spark, ["a"], f"a = {literal}")] == [literal] * 3
    name = f"lake.bronze.{data.name}"
    spark.sql(f"CALL lake.system.rewrite_manifests('{name}')").collect()
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
    ).collect()
    data.take([{"a": new}])
    assert [row["a"] for row in read_alike(data, spark, ["a"])] == [*found, found[1]]


def test_an_added_field_is_null_before_and_has_values_after(lake: Lake, spark: SparkSession) -> None:
    data = Dataset(lake, contract_of("a: {type: int}"))
    data.take([{"a": 1}])
    changed(data, "b: {type: string, about: It came later.}\na: {type: int}")
    data.take([{"a": 2, "b": "x"}, {"a": 3}])
    assert read_alike(data, spark, ["b", "a"]) == [{"b": None, "a": 1}, {"b": "x", "a": 2}, {"b": None, "a": 3}]
    assert read_alike(data, spark, ["a"], "b = 'x'") == [{"a": 2}]
    described = {row["col_name"]: row["comment"] for row in spark.sql(f"describe lake.bronze.{data.name}").collect()}
    assert list(described)[:2] == ["b", "a"]
    assert described["b"] == "It came later."


def test_a_renamed_field_keeps_its_values_and_its_id(lake: Lake, spark: SparkSession) -> None:
    data = Dataset(lake, contract_of("a: {type: int, required: true}\nz: {type: int}"))
    data.take([{"a": 1}])
    number = ids(data)["a"]
    changed(data, "b: {type: long, was: a, from: a}\nz: {type: int}")
    data.take([{"a": 2**40}, {}])
    assert [row["b"] for row in read_alike(data, spark, ["b", "z"])] == [1, 2**40, None]
    assert ids(data)["b"] == number


@pytest.mark.parametrize("kind", ["string", "int", "array<int>"])
def test_a_field_that_was_dropped_and_comes_back_has_another_id_and_none_of_the_old_values(
    lake: Lake, spark: SparkSession, kind: str
) -> None:
    data = Dataset(lake, contract_of("z: {type: int}"))
    data.take([{"z": 0}])
    changed(data, "a: {type: int}\nz: {type: int}")
    data.take([{"a": 1, "z": 1}])
    number = ids(data)["a"]
    assert number == max(ids(data).values())
    changed(data, "z: {type: int}", drop=("a",))
    data.take([{"z": 2}])
    assert "a" not in by_pyiceberg(data)[0]
    changed(data, f'a: {{type: "{kind}"}}\nz: {{type: int}}')
    value = {"string": "new", "int": 7, "array<int>": [7]}[kind]
    data.take([{"z": 3, "a": value}])
    assert [row["a"] for row in read_alike(data, spark, ["a", "z"])] == [None, None, None, value]
    assert ids(data)["a"] > number


def test_partitioning_changes_for_new_files_only_and_back_again(lake: Lake, spark: SparkSession) -> None:
    fields = "a: {type: int}"
    data = Dataset(lake, contract_of(fields))
    data.take([{"a": 1}])
    for partitions in ('["bucket(4, a)"]', '["bucket(8, a)"]', "[a]", "[]", '["days(_ingested_at)"]'):
        changed(data, fields, f"bronze: {{partition_by: {partitions}}}\n")
        data.take([{"a": 2}, {"a": 3}])
    table = load_table(lake, BRONZE, data.name)
    assert table.spec().spec_id == 0
    names = [(field.field_id, field.name) for spec in table.metadata.partition_specs for field in spec.fields]
    assert len({name for _, name in names}) == len({number for number, _ in names}) == 4
    assert [row["a"] for row in read_alike(data, spark, ["a"])] == [1, *[2, 3] * 5]
    assert [row["a"] for row in read_alike(data, spark, ["a"], "a = 2")] == [2] * 5
    options = "options => map('rewrite-all', 'true')"
    spark.sql(f"CALL lake.system.rewrite_data_files(table => 'lake.bronze.{data.name}', {options})").collect()
    assert [row["a"] for row in read_alike(data, spark, ["a"])] == [1, *[2, 3] * 5]


def test_a_column_that_the_table_is_or_was_partitioned_by_cannot_be_dropped(lake: Lake) -> None:
    data = Dataset(lake, contract_of("a: {type: int}\nz: {type: int}", "bronze: {partition_by: [a]}\n"))
    data.take([{"a": 1}])
    changed(data, "a: {type: int}\nz: {type: int}")
    with pytest.raises(Refused, match="was partitioned by it"):
        changed(data, "z: {type: int}", drop=("a",))


def test_a_column_that_the_table_is_partitioned_by_cannot_become_a_double(lake: Lake) -> None:
    more = "bronze: {partition_by: [a]}\n"
    data = Dataset(lake, contract_of("a: {type: float}", more))
    data.take([{"a": 0.5}])
    with pytest.raises(Refused, match="cannot become a double"):
        changed(data, "a: {type: double}", more)


@pytest.mark.parametrize(
    ("partition", "name"),
    [("days(at)", "at_day"), ("months(at)", "at_month"), ("bucket(4, at)", "at_bucket"), ("at", "at_value")],
)
def test_no_column_can_have_the_name_of_a_partition_that_the_table_has_or_had(
    lake: Lake, spark: SparkSession, partition: str, name: str
) -> None:
    data = Dataset(lake, contract_of("at: {type: timestamp}", f"bronze: {{partition_by: ['{partition}']}}\n"))
    data.take([{"at": "2026-03-01T00:00:00Z"}])
    moment, partitioned = "moment: {type: timestamp, from: at}", partition.replace("at", "moment")
    for fields, more in ((f"{moment[:-1]}, was: at}}", f"bronze: {{partition_by: ['{partitioned}']}}\n"), (moment, "")):
        changed(data, fields, more)
        with pytest.raises(Refused, match=f"there cannot be a column `{name}`") as refused:
            changed(data, f"{moment}\n{name}: {{type: string}}", more)
        assert f"bronze.{data.name}, whose partitions are " in refused.value.where
        assert refused.value.data == "nothing was changed"
        assert f"`was: {name}`" in refused.value.next_step
    assert len(read_alike(data, spark, ["moment"])) == 1


def test_the_old_name_of_a_column_that_a_stranger_partitioned_by_does_not_come_back_as_another_column(
    lake: Lake, spark: SparkSession
) -> None:
    """An identity is called like its column, if it is not made by us; a renamed column leaves it its name."""
    data = Dataset(lake, contract_of("a: {type: int}"))
    data.take([{"a": 0}])
    with load_table(lake, BRONZE, data.name).update_spec() as update:
        update.add_identity("a")
    changed(data, "a: {type: int}\nz: {type: int}")
    changed(data, "b: {type: int, was: a}\nz: {type: int}")
    with pytest.raises(Refused, match="there cannot be a column `a`"):
        changed(data, "b: {type: int}\nz: {type: int}\na: {type: int}")
    changed(data, "a: {type: int, was: b}\nz: {type: int}")
    data.take([{"a": 1}])
    assert read_alike(data, spark, ["a", "z"]) == [{"a": 0, "z": None}, {"a": 1, "z": None}]


def test_a_batch_that_was_prepared_before_the_change_is_finished_after_it(lake: Lake, spark: SparkSession) -> None:
    """Its files have the old columns, types and partitions; ids and specs make them fit."""
    fields = 'a: {type: int}\nb: {type: "decimal(4,2)"}\nc: {type: string}'
    data = Dataset(lake, contract_of(fields, "bronze: {partition_by: [c]}\n"))
    data.take([{"a": 0, "b": 0, "c": "first"}])

    def change(point: str) -> None:
        if point == "prepared":
            changed(
                data,
                'new: {type: int}\nd: {type: string, was: c, from: c}\na: {type: long}\nb: {type: "decimal(9,2)"}',
                "about: Changed.\nmaintenance: {target_file: 1MB}\n",
            )

    data.take([{"a": 1, "b": 1.25, "c": "second"}], change)
    data.take([{"a": 2**40, "b": 1234567.25, "c": "third", "new": 3}])
    assert read_alike(data, spark, ["new", "d", "a", "b"]) == [
        {"new": None, "d": "first", "a": 0, "b": Decimal("0.00")},
        {"new": None, "d": "second", "a": 1, "b": Decimal("1.25")},
        {"new": 3, "d": "third", "a": 2**40, "b": Decimal("1234567.25")},
    ]
    properties = load_table(lake, BRONZE, data.name).properties
    assert (properties["comment"], properties["write.target-file-size-bytes"]) == ("Changed.", "1000000")


UNSAFE: list[tuple[str, Callable[[Contract], Contract]]] = [
    ("stored values of int are not values of string", lambda c: next_of(c, "a: {type: string}\nz: {type: int}")),
    ("stored rows may hold null", lambda c: next_of(c, "a: {type: int, required: true}\nz: {type: int}")),
    (
        "rows that are already stored",
        lambda c: next_of(c, "a: {type: int}\nz: {type: int}\nb: {type: int, required: true}"),
    ),
    ("out of reach", lambda c: next_of(c, "a: {type: int}")),
    ("a change has the next version", lambda c: next_of(c, "a: {type: long}\nz: {type: int}", version=3)),
]


def next_of(contract: Contract, fields: str, version: int = 2) -> Contract:
    return contract_of(fields, name=contract.dataset, version=version)


@pytest.mark.parametrize(("why", "unsafe"), UNSAFE, ids=[why for why, _ in UNSAFE])
def test_an_unsafe_change_is_refused_and_changes_nothing(
    lake: Lake, why: str, unsafe: Callable[[Contract], Contract]
) -> None:
    data = Dataset(lake, contract_of("a: {type: int}\nz: {type: int}"))
    data.take([{"a": 1}])
    before = load_table(lake, BRONZE, data.name).metadata_location
    with pytest.raises(Refused, match=why):
        apply_contract(lake, unsafe(data.contract))
    assert load_table(lake, BRONZE, data.name).metadata_location == before


def test_under_ignore_a_new_field_needs_consent(lake: Lake) -> None:
    data = Dataset(lake, contract_of("a: {type: int}", "unknown_fields: ignore\n"))
    assert data.take([{"a": 1, "b": "text"}]).accepted == 1
    for consent in (False, True):
        if consent:
            changed(data, "a: {type: int}\nb: {type: int}", "unknown_fields: ignore\n", consent=True)
            assert data.take([{"a": 1, "b": "text"}]).dead == 1
        else:
            with pytest.raises(Refused, match="--from-now-on"):
                changed(data, "a: {type: int}\nb: {type: int}", "unknown_fields: ignore\n")
            assert data.take([{"a": 1, "b": "text"}]).accepted == 1
