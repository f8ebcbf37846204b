"""One contender in a process of its own: bytes to records, with the processor time and the memory that it took.

Run as `python -m smelter.bench.contenders NAME CONTRACT FOLDER`; prints one line of JSON.
Imports and warm-up do not count.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from smelter.contracts import Contract, load_contract
from smelter.contracts.types import Map, Scalar


@dataclass(frozen=True)
class Measure:
    """What one contender did in one process."""

    records: int
    cpu_seconds: float
    peak_bytes: int
    base_bytes: int


def judge(contract: Contract, files: Sequence[Path]) -> Callable[[], int]:
    """Smelter: every check, Arrow columns of the good records, letters of the bad ones as columns too."""
    from smelter.records import Judge, Source, letters_to_arrow

    judge = Judge(contract)

    def run() -> int:
        records = 0
        for file in files:
            judgement = judge.judge(Source.of_file(file))
            for part in judgement:
                if part.letters:
                    letters_to_arrow(contract.dataset, part.letters)
            records += judgement.receipt.records
        return records

    return run


def duckdb(contract: Contract, files: Sequence[Path]) -> Callable[[], int]:
    """DuckDB's read_json with the contract's types given: no checks, Arrow batches out."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    columns = {name: duckdb_type(rules.kind) for name, rules in contract.fields.items()}

    def run() -> int:
        # `execute`, because a relation with parameters is materialised first, which costs twenty times as much
        found = connection.execute(
            "select * from read_json($files, columns = $columns)",
            {"files": [str(file) for file in files], "columns": columns},
        )
        return sum(batch.num_rows for batch in found.to_arrow_reader(100_000))

    return run


def json_loads(contract: Contract, files: Sequence[Path]) -> Callable[[], int]:
    """`json.loads` and nothing else: no checks, no columns."""
    del contract

    def run() -> int:
        records = 0
        for file in files:
            with file.open("rb") as stream:
                if stream.read(1) == b"[":
                    stream.seek(0)
                    records += len(json.loads(stream.read()))
                else:
                    stream.seek(0)
                    for line in stream:
                        json.loads(line)
                        records += 1
        return records

    return run


def duckdb_type(kind: object) -> str:
    if isinstance(kind, Map):
        return "MAP(VARCHAR, VARCHAR)"
    return "TIMESTAMPTZ" if kind == Scalar("timestamp") else "VARCHAR"


CONTENDERS = {"judge": judge, "duckdb": duckdb, "json_loads": json_loads}


def measure(run: Callable[[], int]) -> Measure:
    """Run once and read the meters."""
    base = _peak_bytes()
    before = _cpu_seconds()
    records = run()
    return Measure(records, _cpu_seconds() - before, _peak_bytes(), base)


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _peak_bytes() -> int:
    """The most memory this process had; the kernel's `ru_maxrss` would begin with that of the process before it."""
    status = Path("/proc/self/status").read_text("utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def main(arguments: list[str]) -> None:
    """Measure the contender that the arguments name."""
    name, contract_file, folder = arguments
    contract = load_contract(Path(contract_file))
    files = sorted(path for path in Path(folder).iterdir() if path.suffix in (".json", ".ndjson"))
    warm_up = sorted(Path(folder).glob("warm-up/*"))
    CONTENDERS[name](contract, warm_up)()
    print(json.dumps(asdict(measure(CONTENDERS[name](contract, files)))))


if __name__ == "__main__":
    main(sys.argv[1:])
