"""What must hold before silver is published? The checks of a contract's `quality:`, and the words of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from smelter.contracts.misfit import Misfit, refuse
from smelter.contracts.part import Part
from smelter.contracts.values import CheckName, Dataset, Duration, Name, Share, SharedPattern, Value, share_of

CheckKind = Literal[
    "not_null", "unique", "in_set", "between", "row_count", "null_share", "freshness", "regex", "exists_in", "sql"
]


@dataclass(frozen=True)
class _Words:
    """The keys that a kind of check needs, and those of which it needs one at least."""

    needs: tuple[str, ...]
    any_of: tuple[str, ...] = ()


WORDS: dict[CheckKind, _Words] = {
    "not_null": _Words(("column",)),
    "unique": _Words(("columns",)),
    "in_set": _Words(("column", "values")),
    "between": _Words(("column",), any_of=("min", "max")),
    "row_count": _Words((), any_of=("min", "max")),
    "null_share": _Words(("column", "max_share")),
    "freshness": _Words(("column", "max_age")),
    "regex": _Words(("column", "pattern")),
    "exists_in": _Words(("column", "dataset", "field")),
    "sql": _Words(("expression",)),
}


class Check(Part):
    """One check: what must hold, and whether silver stops or goes on with a warning where it does not."""

    name: CheckName = Field(description="What the check is called, in the report and in messages.")
    check: CheckKind = Field(description="What is checked.")
    on_failure: Literal["stop", "warn"] = Field(default="stop", description="stop: nothing is published.")
    column: str | None = Field(default=None, description="The column that is checked.")
    columns: tuple[str, ...] | None = Field(default=None, min_length=1, description="unique: these, taken together.")
    values: tuple[Value, ...] | None = Field(default=None, min_length=1, description="in_set: the values it may have.")
    min: Value | None = Field(default=None, description="between, row_count: the smallest value or number of rows.")
    max: Value | None = Field(default=None, description="between, row_count: the largest value or number of rows.")
    max_share: Share | None = Field(default=None, description="null_share: at most this share of nulls: 5% or 0.05.")
    max_age: Duration | None = Field(default=None, description="freshness: how old the newest row may be: 2h.")
    pattern: SharedPattern | None = Field(
        default=None, description="regex: the whole text matches; what Python and Java understand alike."
    )
    dataset: Dataset | None = Field(default=None, description="exists_in: the other dataset.")
    field: Name | None = Field(default=None, description="exists_in: its column that has all the values.")
    expression: str | None = Field(default=None, description="sql: true, or null, for every good row.")

    @property
    def share(self) -> float:
        """`max_share` as a number from 0 to 1."""
        return share_of(self.max_share) if self.max_share is not None else 1.0

    @property
    def columns_named(self) -> tuple[str, ...]:
        """The columns that the check names, in its own order."""
        return self.columns or ((self.column,) if self.column is not None else ())

    @model_validator(mode="after")
    def _words_go_with_the_check(self) -> Check:
        refuse(_misfits(self))
        return self


def _misfits(check: Check) -> Iterator[Misfit]:
    words = WORDS[check.check]
    takes = (*words.needs, *words.any_of)
    given = {key for key in Check.model_fields if getattr(check, key) is not None} - {"name", "check", "on_failure"}
    for key in sorted(given - set(takes)):
        yield Misfit((key,), f"`{key}` does not go with {check.check}; it takes {', '.join(takes)}")
    for key in words.needs:
        if key not in given:
            yield Misfit((), f"{check.check} needs `{key}`")
    if words.any_of and not given & set(words.any_of):
        yield Misfit((), f"{check.check} needs {' or '.join(f'`{key}`' for key in words.any_of)}")
