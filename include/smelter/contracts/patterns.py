"""Is this a regular expression that the judge can use, and would Spark read it in the same way?"""

from __future__ import annotations

import re
import warnings

# One piece of an expression that Python could read: a set, a repetition, the beginning of a group, an escape, a letter.
_PIECE = re.compile(
    r"(?P<set>\[\^?\]?(?:\\.|[^]\\])*\])|\{[0-9]+(?:,[0-9]*)?\}|\(\?(?:P|#|\(|[a-zA-Z]*)|\\[0-7]{3}|\\.|.", re.DOTALL
)
_ONLY_PYTHON = re.compile(r"\(\?(?:P|#|\(|[a-zA-Z]*a[a-zA-Z]*)|\\(?:[0NUZ]|[0-7]{3})|\{")
_ONLY_PYTHON_IN_A_SET = re.compile(r"\\[0-7NUb]|\[")


def pattern_problem(text: str) -> str | None:
    """Say why the judge could not use this regular expression, or None if it can."""
    if not text:
        return "an empty pattern takes the empty text only"
    try:
        with warnings.catch_warnings(action="error"):
            re.compile(text)
            re.compile(rf"\A(?:{text})\Z")  # as the judge has it: flags such as (?i) cannot stand there
    except (re.error, RecursionError, OverflowError, Warning) as problem:
        flags = "; write (?i:…) for (?i)" if "global flags" in str(problem) else ""
        return f"`{text}` is not a regular expression that the judge can use: {problem}{flags}"
    return None


def shared_pattern_problem(text: str) -> str | None:
    """Checks run in Spark, whose expressions are Java's: what only Python has is refused."""
    problem = pattern_problem(text)
    only_python = _only_python(text) if problem is None else None
    if only_python is not None:
        return f"`{text}` has `{only_python}`, which Java reads in another way; Spark does the checks"
    return problem


def _only_python(text: str) -> str | None:
    for piece in _PIECE.finditer(text):
        if piece["set"] is not None:
            inside = (one[0] for one in re.finditer(r"\\.|.", piece["set"][1:-1], re.DOTALL))
            found = next((one for one in inside if _ONLY_PYTHON_IN_A_SET.fullmatch(one)), None)
        else:
            found = piece[0] if _ONLY_PYTHON.fullmatch(piece[0]) else None
        if found is not None:
            return found
    return None
