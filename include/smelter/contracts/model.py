"""What is a valid record? The contract of one dataset, typed and frozen."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from smelter.contracts.names import NAME, dataset_problem, name_problem
from smelter.contracts.rules import check_rules
from smelter.contracts.times import TimeFormat, seconds_of
from smelter.contracts.types import Scalar, Type, parse_type

PLATFORM_COLUMNS = ("_source", "_position", "_arrived_at", "_ingested_at", "_batch", "_contract")
_SIZE = re.compile(r"([1-9][0-9]*)(KB|MB|GB)")
_TRANSFORM = re.compile(r"(years|months|days|hours)\(([a-z_0-9]+)\)|bucket\([1-9][0-9]{0,4}, ?([a-z_0-9]+)\)|([a-z_0-9]+)")


def _a_type(text: str) -> str:
    return str(parse_type(text))


def _a_name(name: str) -> str:
    problem = name_problem(name)
    if problem:
        raise ValueError(problem)
    return name


def _a_dataset(name: str) -> str:
    problem = dataset_problem(name)
    if problem:
        raise ValueError(problem)
    return name


def _a_duration(text: str) -> str:
    seconds_of(text)
    return text


def _a_size(text: str) -> str:
    if _SIZE.fullmatch(text) is None:
        raise ValueError(f"`{text}` is not a size; write 128MB")
    return text


def _a_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as problem:
        raise ValueError(f"`{name}` is not a time zone; write one such as America/New_York") from problem
    return name


def _a_format(text: str) -> str:
    TimeFormat.parse(text)
    return text


def _a_pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as problem:
        raise ValueError(f"`{text}` is not a regular expression: {problem}") from problem
    return text


def _a_source_name(text: str) -> str:
    if not text or re.search(r'["\\\x00-\x1f]', text):
        raise ValueError(f"{text!r} cannot be a source's name: quotes, backslashes and control characters are not read")
    return text


def _a_landing_path(text: str) -> str:
    path = PurePosixPath(text)
    if not text.strip() or "\x00" in text or ".." in path.parts or re.match(r"[a-z0-9]+:", text):
        raise ValueError(f"`{text}` is not a folder under the lake; write landing/events")
    return text


def _a_transform(text: str) -> str:
    if _TRANSFORM.fullmatch(text) is None:
        raise ValueError(f"`{text}` is not a partition; write days(_ingested_at), bucket(16, user_id) or a column")
    return text




_NAME_SCHEMA = WithJsonSchema({"type": "string", "pattern": f"^{NAME.pattern}$"})
TypeText = Annotated[str, AfterValidator(_a_type)]
Name = Annotated[str, AfterValidator(_a_name), _NAME_SCHEMA]
Dataset = Annotated[str, AfterValidator(_a_dataset), _NAME_SCHEMA]
Duration = Annotated[str, AfterValidator(_a_duration)]
Size = Annotated[str, AfterValidator(_a_size)]
Zone = Annotated[str, AfterValidator(_a_zone)]
Format = Annotated[str, AfterValidator(_a_format)]
Pattern = Annotated[str, AfterValidator(_a_pattern)]
SourceName = Annotated[str, AfterValidator(_a_source_name)]
LandingPath = Annotated[str, AfterValidator(_a_landing_path)]
Transform = Annotated[str, AfterValidator(_a_transform)]
Value = str | int | float | bool


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class FieldRules(_Part):
    """One field: its type, whether it must be there, and what its values may be."""

    type: TypeText = Field(description="string, boolean, int, long, float, double, decimal(p,s), date, timestamp, "
                                       "binary, array<T>, map<string,T>, struct<name: T not null, …>")
    required: bool = Field(default=False, description="Missing or null makes the record a dead letter.")
    about: str = Field(default="", description="What it means; becomes the column's comment.")
    from_: SourceName | None = Field(default=None, alias="from", description="Its name in the source.")
    was: Name | None = Field(default=None, description="Its name in the contract before this one: a rename.")
    one_of: tuple[Value, ...] | None = Field(default=None, min_length=1, description="The values it may have.")
    min: Value | None = Field(default=None, description="The smallest value, of numbers and times.")
    max: Value | None = Field(default=None, description="The largest value, of numbers and times.")
    pattern: Pattern | None = Field(default=None, description="A regular expression that the whole text matches.")
    min_length: int | None = Field(default=None, ge=0, description="Characters, bytes, elements or entries.")
    max_length: int | None = Field(default=None, ge=0, description="Characters, bytes, elements or entries.")
    not_after_arrival: Duration | None = Field(
        default=None, description="A time may be at most this much later than the arrival of its file: 1h."
    )
    zone: Zone | None = Field(default=None, description="The zone of times that are written without one.")
    format: Format | None = Field(default=None, description="How a time is written: %Y-%m-%d %H:%M:%S")

    @cached_property
    def kind(self) -> Type:
        """The parsed type."""
        return parse_type(self.type)

    @model_validator(mode="after")
    def _rules_fit_the_type(self) -> FieldRules:
        check_rules(self)
        return self


class Source(_Part):
    """Where records arrive."""

    files: LandingPath = Field(description="A folder, relative to the lake, that is read with its subfolders.")


class Bronze(_Part):
    """How bronze is kept."""

    partition_by: tuple[Transform, ...] = Field(
        default=("days(_ingested_at)",), description="Partitions, such as days(_ingested_at) or bucket(16, user_id)."
    )


class Silver(_Part):
    """What makes two records the same thing, and which of them stays."""

    key: tuple[Name, ...] = Field(min_length=1, description="The fields that identify a thing.")
    on_duplicate: Literal["keep_first", "keep_latest"] = Field(default="keep_first")
    order_by: Name | None = Field(default=None, description="keep_latest: the field that says which is later.")
    event_time: Name | None = Field(default=None, description="When it happened; silver is partitioned by its day.")
    event_time_stable: bool = Field(default=False, description="Records with the same key have the same event time.")

    @model_validator(mode="after")
    def _latest_needs_an_order(self) -> Silver:
        if (self.on_duplicate == "keep_latest") != (self.order_by is not None):
            raise ValueError("`order_by` goes with `on_duplicate: keep_latest`, and only with it")
        return self


class Maintenance(_Part):
    """How the tables are looked after."""

    snapshots: Duration = Field(default="24h", description="How long old snapshots are kept.")
    target_file: Size = Field(default="128MB", description="The size that compaction aims at.")


class Contract(_Part):
    """What is this data? Everything that Smelter needs to know about one dataset."""

    dataset: Dataset = Field(description="The name of the dataset; the file has the same name.")
    version: int = Field(ge=1, description="1, then one more with each change.")
    about: str = Field(default="", description="What one record is.")
    fields: dict[Name, FieldRules] = Field(min_length=1, description="The fields, in the order of the columns.")
    unknown_fields: Literal["dead_letter", "ignore"] = Field(
        default="dead_letter", description="What becomes of a record with a field that is not named here."
    )
    source: Source
    bronze: Bronze = Bronze()
    silver: Silver | None = None
    maintenance: Maintenance = Maintenance()

    @property
    def label(self) -> str:
        """The contract as rows name it: `events@3`."""
        return f"{self.dataset}@{self.version}"

    @cached_property
    def source_names(self) -> dict[str, str]:
        """Field name to the name that records have for it."""
        return {name: field.from_ or name for name, field in self.fields.items()}

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Contract:
        _refuse_shared_names(self)
        _refuse_unknown_columns(self)
        return self


def _refuse_shared_names(contract: Contract) -> None:
    seen: dict[str, str] = {}
    for name, source_name in contract.source_names.items():
        if source_name in seen:
            raise ValueError(f"`{seen[source_name]}` and `{name}` are both read from `{source_name}`")
        seen[source_name] = name
    renamed = [field.was for field in contract.fields.values() if field.was]
    for old in renamed:
        if renamed.count(old) > 1 or old in contract.fields:
            raise ValueError(f"`was: {old}` names a field that is still there, or is said twice")


def _refuse_unknown_columns(contract: Contract) -> None:
    silver = contract.silver
    times = {n for n, f in contract.fields.items() if f.kind in (Scalar("timestamp"), Scalar("date"))}
    if silver is not None:
        for name in (*silver.key, *filter(None, (silver.order_by, silver.event_time))):
            if name not in contract.fields:
                raise ValueError(f"silver names `{name}`, which is not among the fields")
        if silver.event_time is not None and silver.event_time not in times:
            raise ValueError(f"silver's event_time `{silver.event_time}` is not a timestamp or a date")
    for transform in contract.bronze.partition_by:
        match = _TRANSFORM.fullmatch(transform)
        assert match is not None
        column = match[2] or match[3] or match[4]
        if column not in contract.fields and column not in PLATFORM_COLUMNS:
            raise ValueError(f"bronze is partitioned by `{column}`, which is not a column")
        if match[1] and column not in times and column not in ("_ingested_at", "_arrived_at"):
            raise ValueError(f"bronze: {match[1]}(…) needs a timestamp or a date, and `{column}` is none")

