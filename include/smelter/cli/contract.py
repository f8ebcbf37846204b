"""`smelt contract`: check contract files, compare them, draft one."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from smelter.cli import contract_change
from smelter.cli.session import Session, print_json, session_of
from smelter.contracts import Contract, ContractInvalid, dataset_names, load_contract, parse_contract, read_contract
from smelter.contracts.faults import printable
from smelter.contracts.names import dataset_problem
from smelter.errors import Refused, Unreachable, WrongUsage
from smelter.settings import PROJECT

contracts = typer.Typer(
    name="contract",
    help="What is this data? Draft, check and compare contracts; plan and apply changes to the active one.",
    no_args_is_help=True,
)
_MOST_SAMPLES = 100_000


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
    contract_change.register(contracts)
    app.add_typer(contracts)


@contracts.command("check")
def check(
    context: typer.Context,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE…", help="Contract files; without any, all of the lake's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Read contracts and name everything that is wrong, with file and line."""
    folder = session_of(context).settings.contracts
    chosen = files or [folder / f"{name}.yaml" for name in dataset_names(folder)]
    if not chosen:
        raise Unreachable(
            "there is no contract", where=str(folder), next_step="smelt contract new DATASET --from SAMPLE"
        )
    results, missing = [], None
    for path in chosen:
        try:
            results.append(_checked(path))
        except Unreachable as problem:  # the other files are still worth a look
            missing = missing or problem
            results.append(_result(path, faults=[{"line": None, "message": problem.what}]))
    if as_json:
        print_json(results)
    else:
        for result in results:
            _print_result(result)
    if missing is not None:
        raise missing
    raise typer.Exit(0 if all(result["ok"] for result in results) else 1)


def _checked(path: Path) -> dict[str, Any]:
    try:
        contract = load_contract(path)
    except ContractInvalid as problem:
        return _result(path, faults=[{"line": fault.line, "message": fault.message} for fault in problem.faults])
    return _result(path, contract)


def _result(path: Path, contract: Contract | None = None, faults: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "file": printable(str(path)),
        "ok": contract is not None,
        "contract": contract.label if contract else None,
        "fields": len(contract.fields) if contract else None,
        "faults": faults or [],
    }


def _print_result(result: dict[str, Any]) -> None:
    if result["ok"]:
        print(f"ok      {result['contract']}, {result['fields']} fields  {result['file']}")
    for fault in result["faults"]:
        place = f"{result['file']}:{fault['line']}" if fault["line"] else result["file"]
        print(f"failed  {place}: {fault['message']}")


@contracts.command("schema")
def schema() -> None:
    """Print the JSON Schema of contracts, which lets an editor complete and check them."""
    from smelter.contracts.schema import contract_schema

    sys.stdout.write(contract_schema())


@contracts.command("diff")
def diff(
    old: Annotated[Path, typer.Argument(help="The contract as it is.")],
    new: Annotated[Path, typer.Argument(help="The contract as it should be.")],
    drop: contract_change.Drop = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Say for each change from OLD to NEW whether it is safe, and why. Exit 1 if any is refused."""
    from smelter.contracts.diff import compare

    changes = compare(read_contract(old), read_contract(new), drop or ())
    if as_json:
        print_json([asdict(change) for change in changes])
    elif not changes:
        print("nothing changed")
    else:
        contract_change.print_changes(changes)
    raise typer.Exit(0 if all(change.is_safe for change in changes) else 1)


@contracts.command("new")
def new(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="The name of the new dataset.")],
    sample: Annotated[Path, typer.Option("--from", metavar="SAMPLE", help="A file of records.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - prints it.")
    ] = None,
) -> None:
    """Draft a contract from a file of records; the doubtful places are marked `# ?`."""
    from smelter.contracts.draft import draft_contract

    session = session_of(context)
    problem = dataset_problem(dataset)
    if problem:
        raise WrongUsage(problem)
    path = Path(output) if output else session.settings.contracts / f"{dataset}.yaml"
    records = _sample_records(session, sample)
    text = draft_contract(dataset, records, _schema_seen_from(path))
    parse_contract(text, f"{dataset}.yaml")  # a draft that does not load would be worse than none
    if output == "-":
        sys.stdout.write(text)
        return
    _write_new(path, text)
    shown = printable(shlex.quote(str(path)))
    print(f"drafted {shown} from {len(records):,} records; {text.count('# ?') - 1} lines are marked `# ?`")
    print(f"next: look at them, then: smelt contract check {shown}")
    if path.parent.absolute() == session.settings.contracts:
        print(f"      smelt check {printable(shlex.quote(str(sample)))} --dataset {dataset}")


def _schema_seen_from(path: Path) -> str:
    """Where an editor finds the schema: a relative path inside the project, so that a clone keeps it."""
    schema = PROJECT / "include" / "smelter" / "contracts" / "contract.schema.json"
    folder = path.parent.absolute()
    return os.path.relpath(schema, folder) if folder.is_relative_to(PROJECT) else str(schema)


def _sample_records(session: Session, sample: Path) -> list[dict[str, Any]]:
    from smelter.cli.limits import limits_of
    from smelter.records import Source
    from smelter.records.survey import whole_texts

    if not sample.is_file():
        what = f"{sample} is a folder; name one file of it" if sample.is_dir() else f"there is no file {sample}"
        raise Unreachable(what, data="nothing was written")
    found: list[dict[str, Any]] = []
    for text in whole_texts(Source.of_file(sample), limits_of(session.settings)):
        record = _object_of(text)
        if record is not None:
            found.append(record)
        if len(found) == _MOST_SAMPLES:
            break
    if not any(found):
        raise Refused("the sample holds no JSON object with a field", where=str(sample), data="nothing was written")
    return found


def _object_of(text: bytes) -> dict[str, Any] | None:
    """The record as the judge would see it, or None if it would not take it as an object."""
    try:
        record = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 400 else math.inf)
        if b"\\u" in text:
            json.dumps(record, ensure_ascii=False).encode()  # half of a surrogate pair is not a character
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _write_new(path: Path, text: str) -> None:
    """A new file, whole or not at all; what is there already is never touched."""
    if not path.parent.is_dir():
        next_step = f"mkdir -p {shlex.quote(str(path.parent))}"
        raise Unreachable(f"there is no folder {path.parent}", data="nothing was written", next_step=next_step)
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise Refused(
            f"{path} exists already", data="nothing was written", next_step="take another name, or -o FILE"
        ) from None
    try:
        with file:
            file.write(text)
    except OSError:
        path.unlink(missing_ok=True)
        raise
