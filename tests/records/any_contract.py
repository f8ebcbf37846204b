"""Any contract, for property tests; and what a good record must come back as, by plain Python."""

from __future__ import annotations

import base64
import json
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import strategies as st

from smelter.contracts import Contract, FieldRules
from smelter.contracts.types import Array, Map, Scalar, Struct, Type
from smelter.contracts.types import Decimal as DecimalType

SCALARS = [
    "string",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "date",
    "timestamp",
    "binary",
    "decimal(9,3)",
    "decimal(38,0)",
]
NAMES = ["a", "b2", "c_c", "item", "sku"]
RULES: dict[str, list[str]] = {
    "string": ["", "one_of: [x, 'y z', ü]", "pattern: '[a-c]{2,5}-\\d+'", "min_length: 1, max_length: 12"],
    "boolean": ["", "one_of: [true]"],
    "int": ["", "min: -5, max: 1000", "one_of: [1, 2, 3]"],
    "long": ["", "min: 0", "max: 9007199254740993"],
    "float": ["", "min: 0.5"],
    "double": ["", "min: -1.5, max: 1.5e300"],
    "decimal(9,3)": ["", "min: 0, max: 99.5"],
    "decimal(38,0)": ["", "min: 0"],
    "date": ["", "min: 2020-01-01", "format: '%d.%m.%Y'"],
    "timestamp": [
        "",
        "min: 2020-01-01T00:00:00Z, max: 2030-01-01T00:00:00+02:00",
        "not_after_arrival: 2h",
        "zone: America/New_York",
        "zone: Europe/Lisbon, format: '%d/%m/%Y %H:%M:%S.%f'",
        "zone: Australia/Lord_Howe, format: '%Y-%m-%d %H:%M'",
    ],
    "binary": ["", "min_length: 1, max_length: 20"],
}


def _members(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(inner, st.booleans())
    return st.lists(member, min_size=1, max_size=3).map(
        lambda found: (
            "struct<"
            + ", ".join(f"{NAMES[i]}: {t}{' not null' if required else ''}" for i, (t, required) in enumerate(found))
            + ">"
        )
    )


TYPES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: inner.map(lambda t: f"array<{t}>") | inner.map(lambda t: f"map<string,{t}>") | _members(inner),
    max_leaves=4,
)


@st.composite
def field_lines(draw: st.DrawFn) -> str:
    """Up to five fields of any type, with rules, renamed or not, required or not."""
    lines = []
    for index in range(draw(st.integers(1, 5))):
        kind = draw(TYPES)
        parts = [f'type: "{kind}"']
        rules = draw(st.sampled_from(RULES.get(kind, [""])))
        parts += [rules] if rules else []
        parts += ["required: true"] if draw(st.booleans()) else []
        parts += [f"from: 'Feld {index}é'"] if draw(st.integers(0, 4)) == 0 else []
        lines.append(f"f{index}: {{{', '.join(parts)}}}")
    return "\n".join(lines)


def expected_row(contract: Contract, text: bytes) -> dict[str, Any]:
    """The row of a good record, worked out from its JSON without the judge."""
    record = json.loads(text, parse_float=_Text, parse_int=_Text)
    found = {}
    for name, rules in contract.fields.items():
        value = record.get(contract.source_names[name])
        found[name] = None if value is None else _expected(value, rules.kind, rules)
    return found


class _Text(str):
    """A number's text."""


def _expected(value: Any, kind: Type, rules: FieldRules | None) -> Any:
    if isinstance(kind, DecimalType):
        return Decimal(value)  # equal to what comes back, whatever the number of zeros
    if isinstance(kind, Array):
        return [_expected(item, kind.element, None) for item in value]
    if isinstance(kind, Map):
        if kind.value == Scalar("string"):
            return [(key, _scalar_text(item)) for key, item in value.items()]
        return [(key, _expected(item, kind.value, None)) for key, item in value.items()]
    if isinstance(kind, Struct):
        members = {m.name: (m.type, value.get(m.name)) for m in kind.members}
        return {name: None if v is None else _expected(v, t, None) for name, (t, v) in members.items()}
    return _expected_scalar(value, kind.name, rules)


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _expected_scalar(value: Any, name: str, rules: FieldRules | None) -> Any:
    if name in ("int", "long"):
        return int(value)
    if name == "float":
        return float(np.float32(float(value)))
    if name == "double":
        return float(value)
    if name == "binary":
        return base64.b64decode(value)
    if name == "date":
        return _date(value, rules)
    if name == "timestamp":
        return _moment(value, rules)
    return value


def _date(text: str, rules: FieldRules | None) -> date:
    if rules is not None and rules.format is not None:
        return datetime.strptime(text, rules.format).date()
    return date.fromisoformat(text)


def _moment(text: str, rules: FieldRules | None) -> datetime:
    if rules is None or rules.zone is None:
        return datetime.fromisoformat(text.replace("t", "T").replace("z", "Z")).astimezone(UTC)
    local = datetime.strptime(text, rules.format) if rules.format else datetime.fromisoformat(text)
    offset = local.replace(tzinfo=ZoneInfo(rules.zone)).utcoffset()
    assert offset is not None
    return (local - offset).replace(tzinfo=UTC)


def other_json(kind: Type, rng: random.Random) -> str:
    """A JSON value that is not of the type, whatever its rules."""
    wrong = {"string": ["5", "true", "[]", "{}"], "boolean": ['"x"', "1", "[]"], "binary": ['"a"', "7", '"a b="', "{}"]}
    number = ['"5"', "true", "[]", "{}", '""', "1e400" if kind != Scalar("long") else "1.0"]
    if isinstance(kind, Array):
        choices = ['"x"', "5", "{}", "[null]"]
    elif isinstance(kind, Map):
        choices = ['"x"', "5", "[]", '{"k":null}', '{"k":[]}' if kind.value == Scalar("string") else '{"k":null}']
    elif isinstance(kind, Struct):
        choices = ['"x"', "5", "[]", "true"]
    elif isinstance(kind, Scalar) and kind.name in ("date", "timestamp"):
        choices = ["1700000000", '"soon"', '"2026-13-01T00:00:00Z"', '"2026-02-30"', "[]"]
    elif isinstance(kind, Scalar) and kind.name in wrong:
        choices = wrong[kind.name]
    else:
        choices = number
    return rng.choice(choices)
