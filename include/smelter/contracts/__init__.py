"""What is a valid record, and which change to that is safe?"""

from smelter.contracts.faults import Fault
from smelter.contracts.load import (
    ContractInvalid,
    dataset_names,
    find_contract,
    load_contract,
    parse_contract,
    read_contract,
)
from smelter.contracts.model import Contract, FieldRules

__all__ = [
    "Contract",
    "ContractInvalid",
    "Fault",
    "FieldRules",
    "dataset_names",
    "find_contract",
    "load_contract",
    "parse_contract",
    "read_contract",
]
