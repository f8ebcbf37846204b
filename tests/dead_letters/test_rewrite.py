"""A contract's own text with a few changes in it: what its author wrote stays, and it means what it should."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smelter.contracts import parse_contract
from smelter.contracts.rewrite import rewritten

TEXT = """\
# yaml-language-server: $schema=somewhere
dataset: orders  # what the shop sells
version: 1
about: One row per order
fields:
  # the number of the till
  id:   {type: int, required: true}   # never null

  kind:
    type: string   # a word
    one_of:
      - new   # just in
      - old
  state: {type: string, one_of: [open,   # at first
                                 closed]}

# where it comes from
source: {files: landing/orders}
"""
COUPON = {"coupon": {"type": "string"}}


def added(before: str, after: str) -> list[str]:
    """The lines that are new; none may be gone but those that were to change."""
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[:2] in ("+ ", "- ")]


def test_a_new_field_comes_after_the_last_one_and_before_the_comments_of_what_follows() -> None:
    text = rewritten(TEXT, 2, COUPON)
    assert text == TEXT.replace("version: 1", "version: 2").replace(
        "closed]}\n", "closed]}\n  coupon: {type: string}\n"
    )
    assert parse_contract(text, "orders.yaml").fields["coupon"].type == "string"


def test_a_wider_type_and_an_optional_field_change_their_own_words_only() -> None:
    text = rewritten(TEXT, 2, {"id": {"type": "long", "required": False}, "kind": {"type": "string"}})
    assert text is not None
    assert added(TEXT, text) == [
        "- version: 1",
        "+ version: 2",
        "-   id:   {type: int, required: true}   # never null",
        "+   id:   {type: long, required: false}   # never null",
    ]


def test_more_allowed_values_come_after_those_that_are_there_in_either_style() -> None:
    changes = {"kind": {"one_of": ["new", "old", "lost"]}, "state": {"one_of": ["open", "closed", "half: open"]}}
    text = rewritten(TEXT, 2, changes)
    assert text is not None
    assert added(TEXT, text)[2:] == [
        "+       - lost",
        "-                                  closed]}",
        '+                                  closed, "half: open"]}',
    ]
    fields = parse_contract(text, "orders.yaml").fields
    assert fields["kind"].one_of == ("new", "old", "lost")
    assert fields["state"].one_of == ("open", "closed", "half: open")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_ended", [True, False])
def test_line_ends_stay_as_they_are_also_at_the_end_of_the_file(end: str, is_ended: bool) -> None:
    before = end.join(["dataset: a", "version: 1", "source: {files: x}", "fields:", "  b: {type: int}  # one"])
    before += end if is_ended else ""
    text = rewritten(before, 2, COUPON)
    assert text == before.replace("version: 1", "version: 2") + (
        f"  coupon: {{type: string}}{end}" if is_ended else f"{end}  coupon: {{type: string}}"
    )


@pytest.mark.parametrize("is_ended", [True, False])
def test_a_list_at_the_end_of_the_fields_and_a_new_field_do_not_mix(is_ended: bool) -> None:
    before = "dataset: a\nversion: 1\nsource: {files: x}\nfields:\n  b:\n    type: string\n    one_of:\n    - x"
    text = rewritten(before + ("\n" if is_ended else ""), 2, {"b": {"one_of": ["x", "y"]}, **COUPON})
    assert text is not None
    contract = parse_contract(text, "a.yaml")
    assert (contract.fields["b"].one_of, list(contract.fields)) == (("x", "y"), ["b", "coupon"])


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]",
        "dataset: a\nfields: {b: {type: int}}\n",
        "dataset: a\nversion: 1\nfields: {b: {type: int}}\n",
        "dataset: a\nversion: 1\nfields:\n  coupon: text\n",
        "dataset: a\nversion: 1\nfields:\n  coupon:\n    about: a text\n",
        "dataset: a\nversion: 1\nfields: {}\n",
        "",
    ],
)
def test_a_text_that_is_not_written_plainly_enough_is_left_alone(text: str) -> None:
    assert rewritten(text, 2, COUPON) is None


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1, max_size=4, unique=True))
def test_whatever_the_new_values_are_the_text_means_them_or_is_refused_by_its_reader(values: list[str]) -> None:
    from smelter.contracts import ContractInvalid

    text = rewritten(
        TEXT, 2, {"kind": {"one_of": ["new", "old", *values]}, "from_there": {"from": values[0], "type": "int"}}
    )
    assert text is not None
    try:
        contract = parse_contract(text, "orders.yaml")
    except ContractInvalid:
        return
    assert contract.fields["kind"].one_of == ("new", "old", *values)
    assert contract.source_names["from_there"] == values[0]
