"""Realistic and hostile records on demand, with a truth file that says what must become of each."""

from smelter.producer.plan import SAMPLE_START, Faults, Format, Plan, Produced, Reason
from smelter.producer.recipes import good_record_text, record_maker
from smelter.producer.run import produce

__all__ = [
    "SAMPLE_START",
    "Faults",
    "Format",
    "Plan",
    "Produced",
    "Reason",
    "good_record_text",
    "produce",
    "record_maker",
]
