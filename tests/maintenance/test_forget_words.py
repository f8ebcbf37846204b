"""A condition means the same to DuckDB, to us, and to whoever typed it; and letters are read by the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from smelter.contracts import parse_contract
from smelter.errors import WrongUsage
from smelter.maintenance.forget_letters import How, LetterReader
from smelter.maintenance.forget_words import read_condition
from smelter.maintenance.person import decide, sql_of

CONTRACT = parse_contract(
    """
dataset: people
version: 1
fields:
  name: {type: string}
  n:    {type: long, from: Number}
  d:    {type: "decimal(10,2)"}
  f:    {type: double}
  day_:  {type: date, from: on}
  at:   {type: timestamp}
  flag: {type: boolean, from: is}
source: {files: landing/people}
""",
    "people.yaml",
)
Row = dict[str, Any]
TEXTS = {"name": ("ann", "bob", "a%", None), "n": (1, 2, 17, None)}
ROWS: list[Row] = [{"name": name, "n": n} for name in TEXTS["name"] for n in TEXTS["n"]]


@pytest.mark.parametrize(
    ("where", "is_meant"),
    [
        ("name = 'ann'", lambda r: r["name"] == "ann"),
        ("'ann' = name", lambda r: r["name"] == "ann"),
        ("2 < n", lambda r: r["n"] is not None and r["n"] > 2),
        ("name <> 'ann'", lambda r: r["name"] not in ("ann", None)),
        ("n between 2 and 17", lambda r: r["n"] in (2, 17)),
        ("n not between 2 and 5", lambda r: r["n"] in (1, 17)),
        ("name in ('ann', 'bob') and n >= 2", lambda r: r["name"] in ("ann", "bob") and r["n"] in (2, 17)),
        ("name not in ('ann')", lambda r: r["name"] not in ("ann", None)),
        ("name like 'a%'", lambda r: r["name"] in ("ann", "a%")),
        ("name like 'a_'", lambda r: r["name"] == "a%"),
        ("name not like 'a%'", lambda r: r["name"] == "bob"),
        ("not name like 'a%'", lambda r: r["name"] == "bob"),
        ("not (name = 'ann' or n = 1)", lambda r: r["name"] in ("bob", "a%") and r["n"] in (2, 17)),
        ("not (name = 'ann' and n = 1)", lambda r: r["name"] in ("bob", "a%") or r["n"] in (2, 17)),
        ("not (not (n = 1))", lambda r: r["n"] == 1),
        ("name is null or n is not null and n < 2", lambda r: r["name"] is None or r["n"] == 1),
        ("n = -1 or n <= 1", lambda r: r["n"] == 1),
    ],
)
def test_a_condition_means_what_it_says(where: str, is_meant: Callable[[Row], bool]) -> None:
    condition = read_condition(where, CONTRACT)
    wanted = [is_meant(row) for row in ROWS]
    assert [bool(decide(condition, lambda one: bool(one.holds(row[one.field])))) for row in ROWS] == wanted  # noqa: B023
    text, bound = sql_of(condition)
    with duckdb.connect() as database:
        database.execute("create table people (place int, name varchar, n bigint)")
        database.executemany(
            "insert into people values (?, ?, ?)", [(at, *row.values()) for at, row in enumerate(ROWS)]
        )
        found = {at for (at,) in database.execute(f"select place from people where {text}", bound).fetchall()}
    assert [at in found for at in range(len(ROWS))] == wanted


NUMBERS = """
dataset: people
version: 1
fields: {s: {type: float}, f: {type: double}, d: {type: "decimal(30,2)"}, i: {type: int}, n: {type: long}}
source: {files: landing/people}
"""


@pytest.mark.parametrize(
    ("where", "is_meant"),
    [
        ("s = 0.1", True),  # as 32 bits have it
        ("s in (0.2, 0.1)", True),
        ("s < 0.1", False),
        ("s <= 0.1", True),
        ("s > 0.1", False),
        ("s <> 0.1", False),
        ("f = 0.1", True),
        ("d = 1.5", True),
        ("d < 1e20", True),
        ("d < 1e-20", False),
        ("d = 150e-2", True),
        ("i = 5e0", True),
        ("d <> -1234567890123456789012345678.12 and d < 1234567890123456789012345678.12", True),
        ("n < 9e18", True),
    ],
)
def test_a_number_is_compared_as_the_column_has_it(where: str, is_meant: bool) -> None:
    text, bound = sql_of(read_condition(where, parse_contract(NUMBERS, "people.yaml")))
    with duckdb.connect() as database:
        database.execute("create table people (s float, f double, d decimal(30,2), i int, n bigint)")
        database.execute("insert into people values (0.1, 0.1, 1.5, 5, 7)")
        assert bool(database.execute(f"select * from people where {text}", bound).fetchall()) is is_meant


def test_a_letter_has_a_number_of_32_bits_as_its_column_would() -> None:
    reader = LetterReader(
        parse_contract(NUMBERS, "people.yaml"), read_condition("s = 0.1", parse_contract(NUMBERS, ""))
    )
    assert [reader.how(text) for text in ('{"s": 0.1}', '{"s": "0.10"}', "s=0.1", '{"s": 0.2}', '{"s": 1e300}')] == [
        How.READ, How.READ, How.SEARCHED, How.NOT, How.NOT
    ]  # fmt: skip


@pytest.mark.parametrize("where", ["i = 2147483648", "n = 1e40", "n < -1e40", "s = 1e39", "f = 1e400", "d = 1e40"])
def test_a_number_that_no_column_can_have_is_no_condition(where: str) -> None:
    with pytest.raises(WrongUsage, match="is not a value of"):
        read_condition(where, parse_contract(NUMBERS, "people.yaml"))


def test_a_number_keeps_every_digit() -> None:
    _, bound = sql_of(read_condition("d = -1234567890123456789012345678.12", parse_contract(NUMBERS, "people.yaml")))
    assert str(bound["value0"]) == "-1234567890123456789012345678.12"


@pytest.mark.parametrize("where", ["i <= 2147483647", "n >= -9223372036854775808"])
def test_a_bound_that_every_number_keeps_means_everybody(where: str) -> None:
    required = NUMBERS.replace("{type: int}", "{type: int, required: true}")
    required = required.replace("{type: long}", "{type: long, required: true}")
    with pytest.raises(WrongUsage, match="every record is so"):
        read_condition(where, parse_contract(required, "people.yaml"))


@pytest.mark.parametrize("number", ["1e-50", "1" * 39, "1e999999", "0." + "1" * 39])
def test_a_number_of_too_many_digits_is_no_condition(number: str) -> None:
    with pytest.raises(WrongUsage, match="is not a value of"):
        read_condition(f"d > {number}", parse_contract(NUMBERS, "people.yaml"))


@pytest.mark.parametrize(
    ("where", "text", "is_meant"),
    [
        ("n = 17", '{"Number": 17}', True),
        ("n = 17", '{"Number": "17"}', True),
        ("n = 17", '{"Number": 17.0}', True),
        ("n = 17", '{"n": 17}', True),  # not under its name: the text is searched
        ("n = 17", '{"n": 170}', False),
        ("n = 17", "Number=17;", True),
        ("n = 17", "Number=117, 17.5", False),
        ("n > 5", '{"Number": "9"}', True),
        ("n > 5", "Number=9", False),  # nobody can tell
        ("d = 1.50", '{"d": "1.5"}', True),
        ("f = 0.1", '{"f": 0.1}', True),
        ("flag = true", '{"is": "TRUE"}', True),
        ("flag = true", '{"is": "yes"}', False),
        ("at < '2026-03-01T00:00:00Z'", '{"at": "2026-03-01T00:30:00+01:00"}', True),
        ("at < '2026-03-01T00:00:00Z'", '{"at": "2026-03-01T00:00:00Z"}', False),
        ("day_ = '2026-03-01'", '{"on": "2026-03-01"}', True),
        ("name = 'ann'", '{"name": "ann", "n": 1}', True),
        ("name = 'ann'", '{"name": "Ann"}', False),
        ("name = 'ann'", '{"name": null, "who": "ann"}', True),
        ("name = 'ann' and n = 1", '{"name": "ann", "Number": 2}', False),
        ("name = 'ann' and n = 1", '{"name": "ann", "Number": "x1x 1"}', True),
        ("name = 'ann' or name = 'bob'", "bob, not JSON", True),
        ("name = 'ann' and n < 5", "ann, not JSON", True),
        ("name <> 'ann'", "bob, not JSON", False),
        ("name is null", '{"n": 1}', True),
        ("name is null", '{"name": "x"}', False),
        ("name = 'Zoë'", '{"who": "Zo\\u00eb"}', True),
        ("name = 'a\"b'", 'who: "a\\"b" and', True),
        ("name = 'ann'", "[" * 100_000, False),
        ("name = 'ann' and day_ = '2026-03-01'", "ann, not JSON", True),  # nobody can tell the day
        ("name = 'ann' and at = '2026-03-01T00:00:00Z'", "ann, not JSON", True),
        ("name = 'ann' and flag = true", "ann, not JSON", True),
        ("day_ = '2026-03-01'", "2026-03-01, not JSON", False),
        ("flag = true and day_ = '2026-03-01'", "ann, not JSON", False),
        ("d = 12.50", "12.5, not JSON", True),
        ("d = 12.5", "costs 12.500.", True),
        ("d = 12.5", "1.25e1", True),
        ("d = 12.5", "112.5 12.55 12,5 12.5e1", False),
        ("d = 0.5", "it is .5", True),
        ("f = 0.1", "0.10, not JSON", True),
        ("n = -17", "Number: -17", True),
        ("n = -17", "Number: 17", False),
        ("n = 17", "user-17, not JSON", True),
        ("n = 17", "it was 17.", True),
        ("n = 17", "9e" + "9" * 30 + " 17", True),
        ("name = 'José'", '{"who": "Jos\\u00E9"}', True),
        ("name = 'José'", '{"who": "Jos\\u00e9", torn', True),
        ("name = 'a/b'", '"who": "a\\/b", torn', True),
        ("name = 'zoe'", '"who": "about\\nzoe", torn', True),
        ("name = 'José'", '{"payload": "{\\"who\\": \\"Jos\\\\u00E9\\"}"}', True),  # JSON in JSON
        ("name = '😀x'", '{"who": "\\uD83D\\uDE00x"', True),
        ("name = 'José'", '{"who": "Jos\\ud83d"', False),  # a half of something
        ("n = 17", '"Number": "\\u0031\\u0037", torn', True),
        ("name = 'u1'", "user=u17, not JSON", False),
        ("name = 'u1'", "xu1 u1_2 u1ü, not JSON", False),
        ("name = 'u1'", "user=u17;user=u1, not JSON", True),
        ("name = 'u1'", "u1", True),
        ("name = '+u1+'", "a+u1+b, not JSON", True),  # its ends are no word
        ("name = '田中'", "田中さん, not JSON", True),  # no spaces between words
        ("name = ''", "anything", False),
        ("name = '' and n = 1", "1, not JSON", True),
    ],
)
def test_a_letter_is_meant_if_it_may_be_about_the_person(where: str, text: str, is_meant: bool) -> None:
    found = LetterReader(CONTRACT, read_condition(where, CONTRACT)).how(text)
    assert (found in (How.READ, How.SEARCHED)) is is_meant


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8"])
@pytest.mark.parametrize("text", ['{"name": "José", "on": "\xe9"}', "name=José; torn", '{"who": "José"}'])
def test_a_name_that_is_not_in_utf_8_is_found_by_its_bytes(encoding: str, text: str) -> None:
    data = text.encode(encoding)
    raw = data.decode("utf-8", "replace")
    reader = LetterReader(CONTRACT, read_condition("name = 'José'", CONTRACT))
    assert reader.how(raw, data) in (How.READ, How.SEARCHED)
    others = LetterReader(CONTRACT, read_condition("name = 'Josa' or name = 'Jose'", CONTRACT))
    assert others.how(raw, data) is How.NOT


def test_a_part_of_a_record_that_its_text_lacks_is_not_told_for_another() -> None:
    data = '{"name": "José", "Number": 1}'.encode("latin-1")
    raw = data.decode("utf-8", "replace")
    for where, how in (("name <> 'José'", How.UNTOLD), ("n = 1", How.READ), ("name like 'Jos%'", How.UNTOLD)):
        assert LetterReader(CONTRACT, read_condition(where, CONTRACT)).how(raw, data) is how
    assert LetterReader(CONTRACT, read_condition("name like 'Jos%'", CONTRACT)).how(raw) is How.READ, "it is so itself"


@pytest.mark.parametrize(
    ("where", "text", "is_untold"),
    [
        ("name like 'a%'", "ann, not JSON", True),
        ("n > 5", '{"n": 7}', True),
        ("n > 5", '{"Number": 3}', False),
        ("name = 'bob' and n > 5", "ann, not JSON", False),
        ("name = 'bob' or n > 5", "ann, not JSON", True),
        ("day_ = '2026-03-01'", "2026-03-01", True),
        ("name = ''", "anything", True),
        ("name like 'a%'", "", False),  # there is nothing to judge
    ],
)
def test_a_letter_of_which_nobody_can_tell_is_known_as_such(where: str, text: str, is_untold: bool) -> None:
    assert (LetterReader(CONTRACT, read_condition(where, CONTRACT)).how(text) is How.UNTOLD) is is_untold
