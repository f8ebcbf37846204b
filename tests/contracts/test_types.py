"""Types are written one way, and read back the same."""

from __future__ import annotations

import pytest
from contract_texts import contract, the_fault, with_field
from hypothesis import given
from hypothesis import strategies as st

from smelter.contracts.names import name_problem
from smelter.contracts.types import (
    MAX_NESTING,
    SCALARS,
    Array,
    Decimal,
    Map,
    Member,
    Scalar,
    Struct,
    TypeProblem,
    parse_type,
)

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name_problem(name) is None)
decimals = st.integers(1, 38).flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p)))


def structs(types):
    members = st.lists(
        st.builds(Member, names, types, st.booleans()), min_size=1, max_size=4, unique_by=lambda m: m.name
    )
    return members.map(lambda found: Struct(tuple(found)))


types = st.recursive(
    st.sampled_from(SCALARS).map(Scalar) | decimals,
    lambda inner: st.builds(Array, inner) | st.builds(Map, inner) | structs(inner),
    max_leaves=8,
)


@given(types)
def test_any_type_is_read_back_from_its_own_text(kind) -> None:
    assert parse_type(str(kind)) == kind


@given(types, st.sampled_from([" ", "  ", "\t", "\n"]))
def test_white_space_between_words_does_not_matter(kind, space: str) -> None:
    spaced = str(kind)
    for mark in "<>(),:":
        spaced = spaced.replace(mark, f"{space}{mark}{space}")
    assert parse_type(spaced) == kind


words = st.sampled_from([*SCALARS, "decimal", "array", "map", "struct", *"<>(),: ", "not null", "7", "a", "é"])


@given(st.text(max_size=30) | st.lists(words, max_size=8).map("".join))
def test_any_other_text_is_refused_in_one_way(text: str) -> None:
    try:
        found = parse_type(text)
    except TypeProblem:
        return
    assert parse_type(str(found)) == found


@pytest.mark.parametrize(
    "text", [*SCALARS, "decimal(10,2)", "array<int>", "map<string,int>", "struct<a: int not null>"]
)
def test_every_type_can_be_the_type_of_a_field(text: str) -> None:
    assert contract(with_field(f'type: "{text}"')).fields["a"].type == text


def test_a_type_is_kept_in_its_one_spelling() -> None:
    assert (
        contract(with_field('type: " map < string , decimal( 05 , 2 ) > "')).fields["a"].type
        == "map<string,decimal(5,2)>"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strng", "`strng` is not a type; did you mean `string`? (the types: string, boolean, int, long,"),
        ("String", "did you mean `string`?"),
        ("integer", "did you mean `int`?"),
        ("bigint", "did you mean `long`?"),
        ("datetime", "did you mean `timestamp`?"),
        ("array<tmestamp>", "`tmestamp` is not a type; did you mean `timestamp`?"),
        ("zzz", "`zzz` is not a type (the types: "),
        ("", "`` is not a type (the types: "),
        ("decimal", "expected `(`, found the end; write decimal(10,2)"),
        ("decimal(10)", "expected `,`, found `)`; write decimal(10,2)"),
        ("decimal(a,2)", "expected a small number, found `a`"),
        ("decimal(١٠,2)", "expected a small number"),
        ("decimal(99999,2)", "expected a small number"),
        ("decimal(0,0)", "precision is 1 to 38 and scale at most the precision"),
        ("decimal(39,2)", "precision is 1 to 38 and scale at most the precision"),
        ("decimal(5,6)", "precision is 1 to 38 and scale at most the precision"),
        ("array", "expected `<`, found the end; write array<string>"),
        ("array<int", "expected `>`, found the end"),
        ("array<string not null>", "expected `>`, found `not`"),
        ("map<int,string>", "expected `string`, found `int`; write map<string,string>: keys are strings"),
        ("map<string>", "expected `,`, found `>`; write map<string,string>"),
        ("struct", "expected `<`, found the end; write struct<name: string>"),
        ("struct<>", "expected the name of a member, found `>`; write struct<name: string>"),
        ("struct<a: int,>", "expected the name of a member, found `>`"),
        ("struct<a int>", "expected `:`, found `int`"),
        ("struct<a: int, a: long>", "`a` appears twice"),
        ("struct<A: int>", "`A` is not a name"),
        ("struct<_a: int>", "`_a` begins with `_`"),
        ("struct<select: int>", "`select` is a SQL keyword"),
        ("string string", "`string string` goes on after the type `string`"),
        ("int)", "goes on after the type `int`"),
    ],
)
def test_a_wrong_type_is_refused_with_what_was_expected(text: str, said: str) -> None:
    line, message = the_fault(with_field(f'type: "{text}"'))
    assert line == 5
    assert said in message


def test_types_are_nested_up_to_a_limit() -> None:
    assert parse_type("array<" * MAX_NESTING + "int" + ">" * MAX_NESTING)
    for depth in (MAX_NESTING + 1, 50_000):
        with pytest.raises(TypeProblem, match="more than 20 levels"):
            parse_type("array<" * depth + "int" + ">" * depth)
