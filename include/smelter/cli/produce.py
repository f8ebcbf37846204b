"""`smelt produce`: realistic and hostile records on demand, with the truth about them."""

from __future__ import annotations

import contextlib
import datetime
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from smelter.cli.session import complete_dataset, print_json, print_table, session_of
from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.lake.layout import ensure_layout
from smelter.producer.plan import SIMULATED_RATE, Faults, Format, Plan, Produced

_FAULTS = "Faults, as rates: 0.05 or 5%"
_SEEDS = 1_000_000
_TRUTH_BEGINS = b'{"source":'


def register(app: typer.Typer) -> None:
    app.command("produce")(produce)


def rate_of(text: str | float) -> float:
    """A share from 0 to 1, written as `0.05` or `5%`."""
    said = str(text).strip()
    try:
        share = float(said.removesuffix("%")) / (100 if said.endswith("%") else 1)
    except ValueError:
        share = float("nan")
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"`{said}` is not a rate; write 0.05 or 5%, from 0 to 1")
    return share


def moment_of(text: str | datetime.datetime) -> datetime.datetime:
    """An ISO time; without a zone it is in UTC."""
    try:
        moment = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        raise typer.BadParameter(f"`{text}` is not a time; write 2026-11-16T11:43:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)


def _fault(flag: str, about: str) -> Any:
    return typer.Option(flag, parser=rate_of, metavar="RATE", help=about, rich_help_panel=_FAULTS, show_default=False)


def produce(
    context: typer.Context,
    dataset: Annotated[
        str,
        typer.Argument(help="The dataset; its contract says what a record is.", autocompletion=complete_dataset),
    ],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many records.")],
    rate: Annotated[float | None, typer.Option(help="Records a second, in real time; without it, all at once.")] = None,
    records_per_file: Annotated[int, typer.Option(min=1, help="How many records a file has.")] = 1000,
    format: Annotated[Format, typer.Option(help="One JSON array, NDJSON, or an indented array.")] = Format.ARRAY,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the files.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, show_default=False, help="Same seed and start, same bytes. Default: any.")
    ] = None,
    start: Annotated[
        datetime.datetime | None,
        typer.Option(
            parser=moment_of, metavar="TIME", help="When the first event happens. Default: so that it ends now."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="DIR|-", help="A folder, or - for standard output. Default: the landing folder."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Write what must become of each record (NDJSON)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The summary as JSON.")] = False,
    corrupt: Annotated[float, _fault("--corrupt", "A file is cut short.")] = 0.0,
    invalid: Annotated[float, _fault("--invalid", "A value breaks a rule.")] = 0.0,
    missing: Annotated[float, _fault("--missing", "A required field is left out.")] = 0.0,
    wrong_type: Annotated[float, _fault("--wrong-type", "A value has the wrong type.")] = 0.0,
    extra: Annotated[float, _fault("--extra", "There is a field that the contract does not know.")] = 0.0,
    duplicate: Annotated[float, _fault("--duplicate", "A record is written again.")] = 0.0,
    late: Annotated[float, _fault("--late", "An event happened hours or days before its file arrives.")] = 0.0,
    out_of_order: Annotated[float, _fault("--out-of-order", "A record changes places with its neighbour.")] = 0.0,
    future: Annotated[float, _fault("--future", "A time lies too far after the arrival of its file.")] = 0.0,
    nulls: Annotated[float, _fault("--nulls", "A required field is null.")] = 0.0,
    empty_file: Annotated[float, _fault("--empty-file", "A file without records is added.")] = 0.0,
    duplicate_file: Annotated[float, _fault("--duplicate-file", "A file is copied under another name.")] = 0.0,
    garbage: Annotated[float, _fault("--garbage", "A record is replaced by text that is no JSON.")] = 0.0,
) -> None:
    """Write realistic records of any dataset, and spoil some of them on request."""
    session = session_of(context)
    contract = session.contract(dataset)
    faults = Faults(
        corrupt=corrupt, invalid=invalid, missing=missing, wrong_type=wrong_type, extra=extra, duplicate=duplicate,
        late=late, out_of_order=out_of_order, future=future, nulls=nulls, empty_file=empty_file,
        duplicate_file=duplicate_file, garbage=garbage,
    )  # fmt: skip
    folder = _folder(to, session.landing(contract))
    _guard_truth(truth, folder)
    if to is None:
        ensure_layout(session.settings.lake)
    plan = Plan(
        count=count,
        to=folder,
        seed=random.SystemRandom().randrange(_SEEDS) if seed is None else seed,
        start=start or _start_that_ends_now(count, rate),
        rate=rate,
        records_per_file=records_per_file,
        format=format,
        gzip=gzip,
        faults=faults,
        truth=truth,
        by_day=to is None,
    )
    _run(contract, plan, json)


def _run(contract: Contract, plan: Plan, as_json: bool) -> None:
    from smelter import producer

    done = producer.produce(contract, plan, _progress(plan.count))
    # Standard output may hold the records themselves; then the summary goes to the people's side.
    with contextlib.redirect_stdout(sys.stderr) if plan.to is None else contextlib.nullcontext():
        print_json(_as_json(contract.dataset, plan, done)) if as_json else _print_summary(contract.dataset, plan, done)
    if done.interrupted:
        raise KeyboardInterrupt


def _folder(to: str | None, landing: Path) -> Path | None:
    if to == "-":
        return None
    return landing if to is None else Path(to).expanduser().absolute()


def _guard_truth(truth: Path | None, folder: Path | None) -> None:
    """The truth is not a record, and writing it must not cost anybody a file."""
    if truth is None:
        return
    if str(truth) == "-" or (folder is not None and folder in truth.absolute().parents):
        raise typer.BadParameter("the truth needs a file of its own, outside the records' folder", param_hint="--truth")
    if truth.exists() and truth.read_bytes()[: len(_TRUTH_BEGINS)] not in (_TRUTH_BEGINS, b""):
        raise Refused(f"{truth} exists and is no truth file", data="nothing was written", next_step="take another name")


def _start_that_ends_now(count: int, rate: float | None) -> datetime.datetime:
    """The last file arrives about now, so that no record of a fresh run lies in the future."""
    rate = rate if rate is not None and rate > 0 else SIMULATED_RATE
    try:
        start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=count / rate + 1)
    except OverflowError:
        raise typer.BadParameter(
            "so many records at this rate take longer than time itself", param_hint="--rate"
        ) from None
    return start.replace(microsecond=0)


def _progress(count: int) -> Callable[[int], None]:
    """One line on standard error for each second that it takes."""
    began = last = time.monotonic()

    def watch(records: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 1:
            last = now
            print(f"producing records={records:,} of={count:,} seconds={now - began:.0f}", file=sys.stderr)

    return watch


def _as_json(dataset: str, plan: Plan, done: Produced) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "files": len(done.files),
        "records": done.records,
        "good": done.good,
        "dead": done.dead,
        "by_reason": done.by_reason,
        "to": "-" if plan.to is None else str(plan.to),
        "seed": plan.seed,
        "start": plan.start_text,
    }


def _print_summary(dataset: str, plan: Plan, done: Produced) -> None:
    rows = [("files", f"{len(done.files):,}"), ("records", f"{done.records:,}"), ("good", f"{done.good:,}")]
    rows += [(f"dead: {reason}", f"{count:,}") for reason, count in done.by_reason.items()]
    print_table(("written", "count"), rows, right=("count",))
    print(f"seed {plan.seed}, start {plan.start_text}: the same two give the same bytes")
    if plan.truth is not None:
        print(f"truth: {plan.truth}")
    if plan.to is not None:
        print(f"in:    {plan.to}")
        print(f"next:  smelt check {plan.to} --dataset {dataset}")
