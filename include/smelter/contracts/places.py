"""A YAML file as plain values, with the line of every key, so that an error can say where it is.

Plain words follow YAML 1.2: `no` and `on` are texts, and times stay texts until the contract gives them a type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


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
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):  # a few of them, nested, expand to more than memory holds
                raise NotYaml("anchors and aliases are not used in contracts", event.start_mark.line + 1)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise NotYaml(problem.problem or str(problem), mark.line + 1 if mark else 1) from problem
    except yaml.YAMLError as problem:
        raise NotYaml(str(problem).splitlines()[0], 1) from problem
    except RecursionError as problem:
        raise NotYaml("the file is nested too deeply", 1) from problem
    lines: dict[Path, int] = {}
    value = _value(node, (), lines) if node is not None else None
    return Placed(value, lines)


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
        key = key_node.value
        if key in found:
            raise NotYaml(f"`{key}` appears twice", line)
        lines[(*path, key)] = line
        found[key] = _value(value_node, (*path, key), lines)
    return found


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if node.style in ("'", '"', "|", ">"):
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) < 1000 else text
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
