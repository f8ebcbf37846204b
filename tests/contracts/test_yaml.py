"""The YAML of contracts: words of YAML 1.2, lines that are right, and nothing that could surprise."""

from __future__ import annotations

import contextlib
import time

import pytest
from contract_texts import MINIMAL, contract, faults_of, the_fault, with_field, with_fields

from smelter.contracts.places import NotYaml, read_placed


@pytest.mark.parametrize(
    "word", ["no", "yes", "on", "off", "Y", "n", "NO", "12:30", "0x1F", "1_000", "2020-01-01", ".inf"]
)
def test_a_word_that_yaml_1_1_would_change_stays_a_text(word: str) -> None:
    assert contract(with_field(f"type: string, one_of: [{word}]")).fields["a"].one_of == (word,)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("5", 5),
        ("-5", -5),
        ("017", 17),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("'5'", "5"),
        ('"true"', "true"),
        ("1e999", "1e999"),
        ("0.10000000000000000001", "0.10000000000000000001"),
        ("1e9999999999999999999999", "1e9999999999999999999999"),
        ("9" * 1000, "9" * 1000),
    ],
)
def test_a_scalar_is_what_yaml_1_2_says_and_a_number_is_never_rounded(word: str, value: object) -> None:
    found = read_placed(f"a: {word}\n").value["a"]
    assert (type(found), found) == (type(value), value)


def test_keys_stay_texts() -> None:
    assert read_placed("5: a\ntrue: b\nnull: c\n").value == {"5": "a", "true": "b", "null": "c"}


def test_every_key_and_element_has_its_line() -> None:
    placed = read_placed("a: 1\nb:\n  c: [1,\n    2]\n  d: {e: 1}\n")
    lines = [placed.line_of(path) for path in (("a",), ("b", "c"), ("b", "c", 1), ("b", "d", "e"), ("b", "x"))]
    assert lines == [1, 3, 4, 5, 2]


BILLION_LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "the file is empty"),
        ("# only a comment\n\n", 1, "the file is empty"),
        ("---\n", 2, "the file is empty"),
        ("- a\n- b\n", 1, "this is not a mapping; a contract is one that begins with `dataset:`"),
        ("\n\nhello\n", 3, "this is not a mapping"),
        (BILLION_LAUGHS, 1, "anchors and aliases are not used in contracts"),
        ("a: 1\nb: *a\n", 2, "anchors and aliases are not used in contracts"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, "tags such as `!!python/object/apply:os.system` are not used"),
        ("a: 1\nversion: !!str 1\n", 2, "tags such as `!!str` are not used in contracts"),
        (MINIMAL + "dataset: other\n", 6, "`dataset` appears twice"),
        (with_fields("a: {type: int, type: long}"), 5, "`type` appears twice"),
        (with_fields("a: {type: int}", "b: {type: int}", "a: {type: int}"), 7, "`a` appears twice"),
        ("dataset: x\n\tversion: 1\n", 2, "there is a tab; YAML is indented with spaces"),
        ("dataset: x\nabout: a: b\n", 2, "there is a second `:` in the line"),
        ("dataset: x\n---\nversion: 1\n", 2, "there is a second document in the file"),
        ("dataset: x\nabout: \x07\n", 2, "there is a control character"),
        ("dataset: x\n\x00\n", 2, "there is a control character"),
        ('dataset: x\nabout: "\\ud800"\n', 2, "half of a surrogate pair is not a character"),
        ('"\\udfff": x\n', 1, "half of a surrogate pair is not a character"),
        ("a: 1\n? [b]\n: c\n", 2, "a key must be a word"),
        ("a: 1\nb: " + "[" * 100_000, 2, "the file is nested more than 30 levels deep"),
        ("\n".join("  " * depth + "a:" for depth in range(200)), 31, "nested more than 30 levels deep"),
        ("%YAML 9.9\n---\na: 1\n", 1, "found incompatible YAML document"),
    ],
)
def test_a_file_that_is_no_usable_yaml_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    started = time.monotonic()
    found, message = the_fault(text)
    assert found == line
    assert said in message
    assert time.monotonic() - started < 2


def test_an_open_quote_is_reported_with_the_line_where_it_was_opened() -> None:
    line, message = the_fault("dataset: x\nabout: 'the end\nversion: 1\n")
    assert line == 4
    assert message.endswith("begun in line 2)")


def test_an_open_bracket_is_reported_with_the_line_where_it_was_opened() -> None:
    _, message = the_fault("dataset: x\nsource: {files: a\nversion: 1\nfields: 2\n")
    assert "begun in line 2)" in message


def test_a_key_with_control_characters_cannot_draw_on_the_screen() -> None:
    messages = [message for _, message in faults_of(MINIMAL + '"\\e[31mred": 1\n')]
    assert any(r"\x1b[31mred" in message for message in messages)
    assert all(message.isprintable() for message in messages)


def test_text_that_is_hardly_yaml_is_read_or_refused_and_never_raises_anything_else() -> None:
    for text in (
        "\ufeffa: 1",
        "a:\n- b\n c",
        "{",
        "}",
        "@",
        "`",
        "%",
        "a: |\n b\n",
        "\x85",
        "? ",
        ": ",
        "- - -",
        "&",
        "*",
    ):
        with contextlib.suppress(NotYaml):
            read_placed(text)
