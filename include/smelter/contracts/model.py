"""What is a valid record? The contract of one dataset, typed and frozen."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from smelter.contracts.checks import Check
from smelter.contracts.fit import part_misfits
from smelter.contracts.frozen import FrozenDict
from smelter.contracts.misfit import Misfit, refuse
from smelter.contracts.part import Part
from smelter.contracts.rules import rule_misfits
from smelter.contracts.types import Type, parse_type
from smelter.contracts.values import (
    Dataset,
    Duration,
    FieldName,
    Format,
    LandingPath,
    Name,
    OrphanAge,
    Pattern,
    RecordCount,
    Share,
    Size,
    SnapshotAge,
    SourceName,
    Timetable,
    Transform,
    TypeText,
    Value,
    Zone,
    records_of,
    share_of,
)


class FieldRules(Part):
    """One field: its type, whether it must be there, and what its values may be."""

    type: TypeText = Field(
        description="string, boolean, int, long, float, double, decimal(p,s), date, timestamp, binary, "
        "array<T>, map<string,T>, struct<name: T not null, …>"
    )
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
        refuse(rule_misfits(self))
        return self


class Source(Part):
    """Where records arrive."""

    files: LandingPath = Field(description="A folder, relative to the lake, that is read with its subfolders.")
    every: Timetable | None = Field(
        default=None, description="How often it is drained, 1m to 24h: 15m. Without it, a stream that runs on and on."
    )
    after_commit: Literal["keep", "archive", "delete"] = Field(
        default="keep", description="What becomes of a file whose records are in the tables."
    )


class Bronze(Part):
    """How bronze is kept."""

    partition_by: tuple[Transform, ...] = Field(
        default=("days(_ingested_at)",), description="Partitions, such as days(_ingested_at) or bucket(16, user_id)."
    )
    keep_rows: Duration | None = Field(
        default=None, description="Rows go so long after they were ingested: 800d. Without it, never."
    )


class Silver(Part):
    """What makes two records the same thing, and which of them stays."""

    key: tuple[Name, ...] = Field(min_length=1, description="The fields that identify a thing.")
    on_duplicate: Literal["keep_first", "keep_latest"] = Field(
        default="keep_first", description="Which of two records with the same key stays."
    )
    order_by: Name | None = Field(default=None, description="keep_latest: the field that says which is later.")
    event_time: Name | None = Field(default=None, description="When it happened; silver is partitioned by its day.")
    event_time_stable: bool = Field(default=False, description="Records with the same key have the same event time.")
    columns: Annotated[dict[Name, str], AfterValidator(FrozenDict)] = Field(
        default={},
        validate_default=True,
        description="Columns that silver adds, each one expression of Spark's SQL over the fields.",
    )
    keep_rows: Duration | None = Field(
        default=None, description="Rows go so long after they were ingested: 400d. Without it, never."
    )

    @model_validator(mode="after")
    def _words_go_together(self) -> Silver:
        found = []
        if (self.on_duplicate == "keep_latest") != (self.order_by is not None):
            found.append(Misfit((), "`order_by` goes with `on_duplicate: keep_latest`, and only with it"))
        if self.event_time_stable and self.event_time is None:
            found.append(Misfit(("event_time_stable",), "`event_time_stable` has no meaning without `event_time`"))
        refuse(found)
        return self


class DeadLetters(Part):
    """What becomes of dead letters, and how many are too many."""

    pause_at: Share | None = Field(
        default=None, description="A stream with a larger share of dead letters than this pauses itself: 20% or 0.2."
    )
    over: RecordCount = Field(
        default="1000 records", description="The share is that of its newest batches with at least so many records."
    )
    keep: Duration | None = Field(
        default=None, description="How long letters that are closed are kept: 90d. Without it, for ever."
    )
    auto_replay: bool = Field(
        default=False, description="Every night, open letters that pass under the active contract go to bronze."
    )

    @property
    def share(self) -> float | None:
        """`pause_at` as a number from 0 to 1; nothing if there is no budget."""
        return None if self.pause_at is None else share_of(self.pause_at)

    @property
    def over_records(self) -> int:
        """`over` as a number."""
        return records_of(self.over)

    @model_validator(mode="after")
    def _words_go_together(self) -> DeadLetters:
        found = []
        if self.share is None and "over" in self.model_fields_set:
            found.append(Misfit(("over",), "`over` has no meaning without `pause_at`"))
        if self.share == 1:
            why = "no share is larger, so that nothing would ever pause; write 20%, or leave it out"
            found.append(Misfit(("pause_at",), f"`{self.pause_at}` is all of them: {why}"))
        refuse(found)
        return self


class Maintenance(Part):
    """How the tables are looked after."""

    snapshots: SnapshotAge = Field(
        default="24h", description="How long old snapshots are kept, 1m or longer; what a reader needs is kept longer."
    )
    most_snapshots: int = Field(
        default=100,
        ge=10,
        le=10_000,
        description="Beyond so many the oldest go earlier, once they are ten minutes old.",
    )
    target_file: Size = Field(default="128MB", description="The size that compaction aims at.")
    quiet: Duration = Field(
        default="10m", description="Files of a running stream that are younger than this are not compacted."
    )
    orphans: OrphanAge = Field(
        default="3d", description="Files that belong to no table go to the trash when they are so old, 1d or older."
    )
    trash: Duration = Field(default="7d", description="How long the trash keeps them.")


class Contract(Part):
    """What is this data? Everything that Smelter needs to know about one dataset."""

    dataset: Dataset = Field(description="The name of the dataset; the file has the same name.")
    version: int = Field(ge=1, le=2**31 - 1, description="1, then one more with each change.")
    about: str = Field(default="", description="What one record is.")
    fields: Annotated[dict[FieldName, FieldRules], AfterValidator(FrozenDict)] = Field(
        min_length=1, description="The fields, in the order of the columns."
    )
    unknown_fields: Literal["dead_letter", "ignore"] = Field(
        default="dead_letter", description="What becomes of a record with a field that is not named here."
    )
    source: Source
    bronze: Bronze = Bronze()
    silver: Silver | None = None
    quality: tuple[Check, ...] = Field(default=(), description="What must hold before silver is published.")
    dead_letters: DeadLetters = DeadLetters()
    maintenance: Maintenance = Maintenance()

    @property
    def label(self) -> str:
        """The contract as rows name it: `events@3`."""
        return f"{self.dataset}@{self.version}"

    @cached_property
    def source_names(self) -> dict[str, str]:
        """Field name to the name that records have for it."""
        return FrozenDict({name: field.from_ or name for name, field in self.fields.items()})

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Contract:
        refuse(part_misfits(self))
        return self
