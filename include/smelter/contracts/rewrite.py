"""A contract's own text with a few changes in it: comments, order and spelling stay as their author wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
Edit = tuple[int, int, str]  # from here to there, this instead


def rewritten(text: str, version: int, fields: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The text with another version and with these keys of these fields; nothing if it is not written plainly enough.

    The caller compares what the new text means with what it should mean.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    edits = list(_edits(text, root, version, fields)) if isinstance(root, yaml.MappingNode) else [None]
    if None in edits:
        return None
    for start, end, new in sorted((edit for edit in edits if edit is not None), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _edits(
    text: str, root: yaml.MappingNode, version: int, fields: Mapping[str, Mapping[str, Any]]
) -> Iterator[Edit | None]:
    said, listed = _value(root, "version"), _value(root, "fields")
    if said is None or not isinstance(listed, yaml.MappingNode) or listed.flow_style or not listed.value:
        yield None
        return
    yield said.start_mark.index, said.end_mark.index, str(version)
    new = []
    for name, keys in fields.items():
        field = _value(listed, name)
        if field is None:
            new.append(f"{' ' * listed.value[0][0].start_mark.column}{name}: {_flow(keys)}")
        else:
            yield from _field_edits(text, field, keys)
    if new:
        yield _new_lines(text, listed, new)


def _field_edits(text: str, field: yaml.Node, keys: Mapping[str, Any]) -> Iterator[Edit | None]:
    for key, value in keys.items():
        said = _value(field, key) if isinstance(field, yaml.MappingNode) else None
        if isinstance(said, yaml.SequenceNode) and isinstance(value, list | tuple):
            yield _longer(text, said, value[len(said.value) :])
        elif said is not None:
            yield said.start_mark.index, said.end_mark.index, _flow(value)
        elif isinstance(field, yaml.MappingNode) and field.flow_style and text[field.end_mark.index - 1] == "}":
            yield field.end_mark.index - 1, field.end_mark.index - 1, f", {key}: {_flow(value)}"
        else:
            yield None


def _value(node: yaml.Node, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    said = json.dumps(value, ensure_ascii=False)  # YAML would read some characters that are not seen as a space
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in said)


_NOT_TEXT = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def _longer(text: str, said: yaml.SequenceNode, more: Sequence[Any]) -> Edit | None:
    """A list with more elements at its end; what it has stays as it is written."""
    if not said.value:
        return None
    if said.flow_style:
        end = said.end_mark.index - 1  # its bracket
        return end, end, "".join(f", {_flow(one)}" for one in more)
    return _new_lines(text, said, [f"{' ' * said.start_mark.column}- {_flow(one)}" for one in more])


def _new_lines(text: str, after: yaml.Node, lines: Sequence[str]) -> Edit:
    """Lines after the last one of a block, with the line ends that the text has."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    end = text.find("\n", _end_of(after))
    if end < 0:
        return len(text), len(text), "".join(f"{line_end}{line}" for line in lines)
    return end + 1, end + 1, "".join(f"{line}{line_end}" for line in lines)


def _end_of(node: yaml.Node) -> int:
    """Where what a block holds ends: its own mark is where the next thing begins, with comments between."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_of(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)
