"""`smelt contract`: look at contracts, compare them, draft one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from smelter.cli.session import Session, print_json, print_table, session_of
from smelter.contracts import ContractInvalid, dataset_names, load_contract, parse_contract
from smelter.contracts.names import dataset_problem
from smelter.errors import Refused, Unreachable, WrongUsage

contracts = typer.Typer(
    name="contract", help="What is this data? Check contracts, compare two, or draft one.", no_args_is_help=True
)
_MOST_SAMPLES = 100_000


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
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
        raise Unreachable("there is no contract", where=str(folder), next_step="smelt contract new DATASET --from SAMPLE")
    results = [_checked(path) for path in chosen]
    if as_json:
        print_json(results)
    else:
        for result in results:
            _print_result(result)
    raise typer.Exit(0 if all(result["ok"] for result in results) else 1)


def _checked(path: Path) -> dict[str, Any]:
    try:
        contract = load_contract(path)
    except ContractInvalid as problem:
        faults = [{"line": fault.line, "message": fault.message} for fault in problem.faults]
        return {"file": str(path), "ok": False, "contract": None, "faults": faults}
    return {"file": str(path), "ok": True, "contract": contract.label, "fields": len(contract.fields), "faults": []}


def _print_result(result: dict[str, Any]) -> None:
    if result["ok"]:
        print(f"ok      {result['contract']}, {result['fields']} fields  {result['file']}")
    for fault in result["faults"]:
        print(f"failed  {result['file']}:{fault['line']}: {fault['message']}")


@contracts.command("schema")
def schema() -> None:
    """Print the JSON Schema of contracts, which lets an editor complete and check them."""
    from smelter.contracts.schema import contract_schema

    sys.stdout.write(contract_schema())


@contracts.command("diff")
def diff(
    old: Annotated[Path, typer.Argument(help="The contract as it is.")],
    new: Annotated[Path, typer.Argument(help="The contract as it should be.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Say for each change from OLD to NEW whether it is safe, and why. Exit 1 if any is refused."""
    from smelter.contracts.diff import compare

    changes = compare(_loaded(old), _loaded(new))
    if as_json:
        print_json([asdict(change) for change in changes])
    elif not changes:
        print("nothing changed")
    else:
        rows = [
            ("safe" if c.is_safe else "refused", c.where, c.what, c.why + (f" → {c.way_out}" if c.way_out else ""))
            for c in changes
        ]
        print_table(("verdict", "where", "change", "why"), rows)
    raise typer.Exit(0 if all(change.is_safe for change in changes) else 1)


def _loaded(path: Path) -> Any:
    """A contract file under any name: two versions of one dataset cannot both be called by it."""
    try:
        return parse_contract(path.read_text("utf-8-sig"), str(path))
    except FileNotFoundError:
        raise Unreachable(f"there is no contract {path}") from None
    except UnicodeDecodeError:
        raise Refused("the file is not UTF-8", where=str(path)) from None


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
    records = _sample_records(session, sample)
    text = draft_contract(dataset, records)
    parse_contract(text, f"{dataset}.yaml")  # a draft that does not load would be worse than none
    if output == "-":
        sys.stdout.write(text)
        return
    path = Path(output) if output else session.settings.contracts / f"{dataset}.yaml"
    _write_new(path, text)
    doubts = text.count("# ?")
    print(f"drafted {path} from {len(records):,} records; {doubts} places are marked `# ?`")
    print(f"next: look at them, then: smelt contract check {path}")
    print(f"      smelt check {sample} --dataset {dataset}")


def _sample_records(session: Session, sample: Path) -> list[dict[str, Any]]:
    from smelter.cli.limits import limits_of
    from smelter.records import Source
    from smelter.records.survey import whole_texts

    if not sample.is_file():
        raise Unreachable(f"there is no file {sample}", data="nothing was written")
    found: list[dict[str, Any]] = []
    for text in whole_texts(Source.of_file(sample), limits_of(session.settings)):
        try:
            record = json.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
        if len(found) == _MOST_SAMPLES:
            break
    if not any(found):
        raise Refused("the sample holds no JSON object with a field", where=str(sample), data="nothing was written")
    return found


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refused(
            f"{path} exists already", data="nothing was written", next_step="take another name, or -o FILE"
        ) from None
