"""Is this record good, and if not, why not? Bytes in, verdicts and Arrow columns out."""

from smelter.records.judge import Judge, Judged, Judgement, Receipt, Verdicts
from smelter.records.letters import (
    LETTER_SCHEMA,
    DeadLetter,
    Problem,
    Reason,
    errors_to_arrow,
    letter_id,
    letters_to_arrow,
    reason_of,
)
from smelter.records.source import Limits, Source
from smelter.records.survey import Survey, files_under, survey

__all__ = [
    "LETTER_SCHEMA",
    "DeadLetter",
    "Judge",
    "Judged",
    "Judgement",
    "Limits",
    "Problem",
    "Reason",
    "Receipt",
    "Source",
    "Survey",
    "Verdicts",
    "errors_to_arrow",
    "files_under",
    "letter_id",
    "letters_to_arrow",
    "reason_of",
    "survey",
]
