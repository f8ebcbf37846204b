"""A YAML file as plain values, with the line of every key, so that an error can say where it is.

Plain words follow YAML 1.2: `no` and `on` are texts, and times stay texts until the contract gives them a type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

import yaml

Path = tuple[str | int, ...]

MAX_DEPTH = 30
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_PLAINER = (
    (r"found character '\\t'", "there is a tab; YAML is indented with spaces"),
    (r"found another document", "there is a second document in the file; a contract is one"),
    (r"mapping values are not allowed", "there is a second `:` in the line; put a text that holds `: ` in quotes"),
    (r"unacceptable character", "there is a control character, which YAML does not take"),
)


@dataclass(frozen=True)
class Placed:
    """Values and where each of them stands."""

    value: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """The line of the nearest known ancestor of `path`, counted from 1."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


class NotYaml(ValueError):
    """The text is not YAML that a contract can use."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_placed(text: str) -> Placed:
    """Read one YAML document; raises `NotYaml` with a line."""
    try:
        _refuse_what_contracts_do_not_use(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        raise _not_yaml(problem) from problem
    except yaml.reader.ReaderError as problem:
        raise NotYaml(_plainer(str(problem)), text.count("\n", 0, int(problem.position)) + 1) from problem
    lines: dict[Path, int] = {}
    value = _value(node, (), lines) if node is not None else None
    return Placed(value, lines)


def _refuse_what_contracts_do_not_use(text: str) -> None:
    """Aliases, of which a few expand to more than memory holds; tags, which change what a word is; endless depth."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if getattr(event, "anchor", None) is not None:
            raise NotYaml("anchors and aliases are not used in contracts", line)
        if getattr(event, "tag", None) is not None:
            raise NotYaml(
                f"tags such as `{event.tag.replace('tag:yaml.org,2002:', '!!')}` are not used in contracts", line
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise NotYaml(f"the file is nested more than {MAX_DEPTH} levels deep", line)


def _not_yaml(problem: yaml.MarkedYAMLError) -> NotYaml:
    begun = problem.context_mark
    mark = problem.problem_mark or begun
    line = mark.line + 1 if mark is not None else 1
    said = _plainer(problem.problem or str(problem))
    if begun is not None and problem.context and begun.line + 1 != line:
        said += f" ({problem.context}, begun in line {begun.line + 1})"
    return NotYaml(said, line)


def _plainer(said: str) -> str:
    return next((plain for jargon, plain in _PLAINER if re.search(jargon, said)), said.splitlines()[0])


def _value(node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, index), lines) for index, item in enumerate(node.value)]
    assert isinstance(node, yaml.ScalarNode)
    return _scalar(node)


def _mapping(node: yaml.MappingNode, path: Path, lines: dict[Path, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise NotYaml("a key must be a word", line)
        key = _text(key_node)
        if key in found:
            raise NotYaml(f"`{key}` appears twice", line)
        lines[(*path, key)] = line
        found[key] = _value(value_node, (*path, key), lines)
    return found


def _text(node: yaml.ScalarNode) -> str:
    text: str = node.value
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise NotYaml("half of a surrogate pair is not a character", node.start_mark.line + 1)
    return text


def _scalar(node: yaml.ScalarNode) -> Any:
    text = _text(node)
    if node.style in ("'", '"', "|", ">"):
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) < 1000 else text
    if _FLOAT.fullmatch(text):
        return _exact_float(text)
    return text


def _exact_float(text: str) -> float | str:
    """The number, or its text where a float would say another number: `0.10000000000000000001` is not 0.1."""
    number = float(text)
    try:
        return number if Decimal(repr(number)) == Decimal(text) else text
    except InvalidOperation:  # an exponent beyond anything
        return text
