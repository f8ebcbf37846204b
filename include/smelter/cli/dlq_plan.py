"""`smelt dlq plan`: how many letters would come home, why the others would not, and which change would help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.dlq_options import AsJson, Chosen, Dataset, choosing
from smelter.cli.limits import limits_of
from smelter.cli.session import Session, counted, print_json, session_of
from smelter.contracts.faults import printable
from smelter.errors import Refused, WrongUsage

if TYPE_CHECKING:
    from smelter.contracts import Contract
    from smelter.dead_letters.next_contract import NextContract
    from smelter.dead_letters.plan import Plan

_MOST_WAYS = 15


def register(letters: typer.Typer) -> None:
    """Add the command to `smelt dlq`."""
    letters.command("plan")(choosing(plan))


def plan(
    context: typer.Context,
    dataset: Dataset,
    contract: Annotated[
        Path | None,
        typer.Option("--contract", metavar="FILE", help="Judge under this proposed contract, not the active one."),
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Save the proposed changes as the next version.")
    ] = None,
    take: Annotated[
        str | None,
        typer.Option("--take", metavar="1,2", help="These proposals, also such as make the contract less strict."),
    ] = None,
    as_json: AsJson = False,
    *,
    chosen: Chosen,
) -> None:
    """Judge open letters again, writing nothing: how many would pass, why others would not, what would help.

    Without --contract it also proposes changes of the contract, safe ones only, as a diff.
    """
    if contract is not None and (write is not None or take is not None):
        raise WrongUsage(
            "--write and --take are about proposals, and --contract is one already",
            next_step=f"smelt dlq plan {dataset} --contract {contract}",
        )
    session = session_of(context)
    filters = chosen.filters()
    (name,) = session.ingested(dataset)
    show_plan(session, name, filters, chosen, _proposed(session, name, contract), write, take, as_json=as_json)


def show_plan(
    session: Session,
    dataset: str,
    filters: Any,
    chosen: Chosen,
    contract: Contract | None = None,
    write: Path | None = None,
    take: str | None = None,
    *,
    as_json: bool = False,
) -> None:
    """Plan and print; also what `replay --dry-run` does."""
    from smelter.dead_letters.plan import plan as plan_letters

    found = plan_letters(session.open_lake(), dataset, filters, limits_of(session.settings), contract)
    numbers = _numbers(take, found) if take is not None else [one.number for one in found.proposals if not one.loosens]
    following = _following(session, found, numbers) if numbers else None
    if write is not None:
        if following is None:
            raise Refused(
                "there is no change to propose", data="nothing was written", next_step=f"smelt dlq ls {dataset}"
            )
        following.save(write, session.settings.contracts / f"{dataset}.yaml")
    if as_json:
        print_json(_as_dict(found, following, numbers))
        return
    _print(found, chosen)
    if found.proposals:
        _print_proposals(found, following)
    own = session.settings.contracts / f"{dataset}.yaml"
    print(_next(found, chosen, following, own, write) if contract is None else _next_of_proposed(found, own))


def _proposed(session: Session, dataset: str, file: Path | None) -> Contract | None:
    """The contract of the file; refused if it could not be applied."""
    if file is None:
        return None
    from smelter.contracts import read_contract
    from smelter.lake.evolution import plan_contract
    from smelter.lake.home import BRONZE
    from smelter.lake.tables import load_table

    contract = read_contract(file)
    if contract.dataset != dataset:
        raise WrongUsage(
            f"{file} is the contract of {contract.dataset}", next_step=f"smelt dlq plan {contract.dataset}"
        )
    evolution = plan_contract(load_table(session.open_lake(), BRONZE, dataset), contract)
    refused = [change for change in evolution.changes if not change.is_safe]
    if refused:
        raise Refused(
            f"{refused[0].where}: {refused[0].what} is refused: {refused[0].why}",
            where=str(file),
            data="nothing was judged or changed",
            next_step=refused[0].way_out,
        )
    return contract


def _following(session: Session, found: Plan, numbers: list[int]) -> NextContract:
    """The next contract, with the proposals of these numbers."""
    from smelter.dead_letters.next_contract import next_contract
    from smelter.dead_letters.plan import proposed_contract
    from smelter.lake.home import BRONZE
    from smelter.lake.tables import active_contract, load_table

    lake = session.open_lake()
    active = active_contract(load_table(lake, BRONZE, found.dataset))
    chosen = [one for one in found.proposals if one.number in numbers]
    own = session.settings.contracts / f"{found.dataset}.yaml"
    return next_contract(active, proposed_contract(lake, found, numbers), chosen, own)


def _numbers(take: str, found: Plan) -> list[int]:
    known = {str(one.number) for one in found.proposals}
    words = [word.strip() for word in take.split(",")]
    strange = [word for word in words if word not in known]
    if strange:
        said = f"there are {len(known)} proposals" if known else "there is no proposal"
        raise WrongUsage(f"--take {printable(strange[0])}: {said}", next_step=f"smelt dlq plan {found.dataset}")
    return [int(word) for word in words]


def _print(found: Plan, chosen: Chosen) -> None:
    failing = found.letters - found.passing
    print(
        f"{found.dataset}: {counted(found.letters, 'open letter')}{' of those' if chosen.words() else ''} under "
        f"{found.contract}: {found.passing:,} would pass, {failing:,} would not"
    )
    for reason, count in found.would_pass.items():
        print(f"  ✓ {count:,} {reason}")
    for (reason, _field, _rule), one in found.failing[:_MOST_WAYS]:
        print(f"  ✗ {one.letters:,} {reason}: {printable(one.message)} (example {one.example})")
    if len(found.failing) > _MOST_WAYS:
        print(f"… {len(found.failing) - _MOST_WAYS:,} more ways to fail; --json has all")
    for file in found.files:
        brings = f"would bring {counted(file.rows, 'row')} and {counted(file.new_letters, 'new letter')}"
        print(f"  file {printable(file.source)}: {file.problem or brings}")


def _print_proposals(found: Plan, following: NextContract | None) -> None:
    print("proposals:")
    for one in found.proposals:
        alone = f"recovers {one.recovers:,}" if one.recovers else "recovers letters together with others only"
        mark = f"; less strict, so only with --take {one.number}" if one.loosens else ""
        what = printable(f"{one.because} → {one.what}")
        print(f"  {one.number}. {counted(one.letters, 'letter')}: {what}; {alone}{mark}")
    for line in following.diff if following is not None else ():
        print(f"  {printable(line)}")


def _next(found: Plan, chosen: Chosen, following: NextContract | None, own: Path, written: Path | None) -> str:
    dataset = found.dataset
    if written is not None and following is not None:
        is_own = written.resolve() == own.resolve()
        then = f"smelt contract apply {dataset}" if is_own else f"smelt dlq plan {dataset} --contract {written}"
        return f"{written} says {following.contract.label}\nnext: {then}"
    if found.passing:
        return f"next: smelt dlq replay {dataset}{chosen.words()}"
    if following is not None:
        return f"next: smelt dlq plan {dataset}{chosen.words(for_plan=True)} --write {own}"
    if not found.letters:
        return f"nothing to do\nnext: smelt dlq ls {dataset} --status all shows closed ones"
    return f"next: smelt dlq show {found.failing[0][1].example}" if found.failing else f"next: smelt dlq ls {dataset}"


def _next_of_proposed(found: Plan, own: Path) -> str:
    return f"next: when it is what you want, put it into {own}; then: smelt contract apply {found.dataset}"


def _as_dict(found: Plan, following: NextContract | None, numbers: list[int]) -> dict[str, Any]:
    return {
        "dataset": found.dataset,
        "contract": found.contract,
        "letters": found.letters,
        "would_pass": found.passing,
        "would_pass_by_reason": found.would_pass,
        "would_fail_by_reason": found.would_fail,
        "failing": [
            {"reason": key[0], "field": key[1], "rule": key[2], "letters": one.letters, "message": one.message,
             "example": one.example}
            for key, one in found.failing
        ],
        "files": [
            {"source": one.source, "reason": one.reason, "letters": one.letters, "rows": one.rows,
             "new_letters": one.new_letters, "problem": one.problem or None}
            for one in found.files
        ],
        "proposals": [
            {"number": one.number, "what": one.what, "because": one.because, "letters": one.letters,
             "recovers": one.recovers, "less_strict": one.loosens}
            for one in found.proposals
        ],
        "next_contract": None if following is None else following.text,
        "next_contract_recovers": found.recovers(numbers),
    }  # fmt: skip
