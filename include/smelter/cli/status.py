"""`smelt status`: rows, last batch, freshness, dead letters, waiting files, and whether the stream is alive."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.gold_status import gold_line, gold_status
from smelter.cli.moments import ago
from smelter.cli.session import Session, complete_dataset, counted, print_json, session_of
from smelter.cli.stream_words import line_of, plain
from smelter.contracts.faults import printable
from smelter.errors import SmelterError
from smelter.supervise.standing import standing_of

if TYPE_CHECKING:
    from smelter.lake.home import Lake
    from smelter.ledger.standing import Standing

_LISTED = ("rewritten", "empty", "unfinished", "unnameable", "linked")
_WORDS = {
    "rewritten": "written again after being read; smelt ingest {dataset} --reread FILE takes the new content",
    "empty": "empty",
    "unfinished": "unfinished by name, and left alone",
    "unnameable": "with a name that is not UTF-8, which Spark cannot see: rename it",
    "linked": "a link to another folder, which is not followed",
}
_MOST_LISTED = 5


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("status")(status)


def status(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how each dataset stands: rows, last batch, dead letters, waiting files, the stream, silver and gold."""
    from smelter.maintenance.journal import tables_aside

    session = session_of(context)
    lake = session.open_lake()
    aside = tables_aside(lake)
    found = [_of(session, lake, name, aside) for name in session.ingested(dataset)]
    if as_json:
        print_json(found)
        return
    if not found:
        print(f"nothing has been ingested into {lake.root} yet; smelt ingest DATASET --drain begins")
    for one in found:
        _print(one)
    shown = {table for one in found for table in one["set_aside"]}
    for table, why in aside.items():
        if dataset is None and table not in shown:
            print(_aside_line(table, why))


def _of(session: Session, lake: Lake, dataset: str, aside: dict[str, str]) -> dict[str, Any]:
    """Everything about one dataset, as plain values."""
    from smelter.ledger.standing import standing_of as ledger_standing_of

    found = ledger_standing_of(lake, dataset)
    last, seen = found.last_batch, found.landing
    return {
        "dataset": dataset,
        "contract": found.contract.label,
        "contract_file_differs": _file_differs(session, found),
        "rows": found.rows,
        "batches": found.batches,
        "prepared_batches": found.prepared,
        "last_batch": None
        if last is None
        else {
            "token": last.token,
            "ingested_at": last.ingested_at.isoformat(),
            "seconds_ago": _seconds_since(last.ingested_at),
            "files": last.files,
            "records": last.records,
            "accepted": last.accepted,
            "dead": last.dead,
        },
        "newest_arrival": None if found.newest_arrival is None else found.newest_arrival.isoformat(),
        "dead_letters": found.letters_by_reason,
        "closed_dead_letters": found.closed_letters,
        "lost_data_files": found.lost_files,
        "waiting_files": len(seen.waiting),
        "oldest_waiting_seconds": seen.oldest_waiting_seconds,
        **{name: [printable(str(path)) for path in getattr(seen, name)] for name in _LISTED},
        "stream": plain(standing_of(lake.run_folder(dataset))),
        "silver": _silver(lake, dataset),
        "gold": gold_status(session, lake, found.contract),
        "set_aside": _set_aside(session, dataset, aside),
    }


def _set_aside(session: Session, dataset: str, aside: dict[str, str]) -> dict[str, str]:
    """Tables of a dataset that maintenance has given up on, with the reason."""
    from smelter.gold.models import load_models
    from smelter.lake.home import BRONZE, DEAD_LETTERS, GOLD, SILVER

    if not aside:
        return {}
    own = {f"{place}.{dataset}" for place in (BRONZE, DEAD_LETTERS, SILVER)}
    own |= {f"{GOLD}.{one.name}" for one in load_models(session.settings.models) if one.dataset == dataset}
    return {table: why for table, why in aside.items() if table in own}


def _file_differs(session: Session, found: Standing) -> str | None:
    """How the contract file differs from the active contract; nothing if they say the same."""
    try:
        file = session.contract(found.dataset)
    except SmelterError as problem:
        return f"the contract file cannot be read: {problem.what}"
    if file == found.contract:
        return None
    plan = f"smelt contract plan {found.dataset}"
    return f"the contract file says {file.label} and is not the active contract, {found.contract.label}; {plan}"


def _silver(lake: Lake, dataset: str) -> dict[str, Any] | None:
    from smelter.silver.standing import standing_of as silver_standing_of

    found = silver_standing_of(lake, dataset)
    if found is None:
        return None
    return {
        "rows": found.rows,
        "waiting_rows": found.waiting,
        "built_at": None if found.built_at is None else found.built_at.isoformat(),
        "built_seconds_ago": None if found.built_at is None else _seconds_since(found.built_at),
        "rebuild_due": list(found.rebuild_due),
        "stopped_by": found.stopped_by,
        "failed_checks": list(found.failed_checks),
        "being_changed_by": found.holder,
    }


def _seconds_since(moment: datetime) -> float:
    return round((datetime.now(UTC) - moment).total_seconds(), 1)


def _print(one: dict[str, Any]) -> None:
    rows = ", ".join(f"{count:,} in {table}" for table, count in one["rows"].items())
    print(f"{one['dataset']} ({one['contract']}): {rows}")
    last = one["last_batch"]
    if last is not None:
        print(
            f"  last batch    {ago(last['seconds_ago'])}: {counted(last['files'], 'file')}, "
            f"{counted(last['records'], 'record')}, {last['accepted']:,} accepted, {last['dead']:,} dead"
        )
    print(f"  stream        {line_of(one['stream'])}")
    if one["silver"] is not None:
        print(f"  silver        {_silver_line(one['silver'], one['dataset'])}")
    for table in one["gold"]:
        print(f"  gold          {gold_line(table, one['dataset'])}")
    if one["dead_letters"]:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in one["dead_letters"].items())
        closed = f"; {one['closed_dead_letters']:,} closed" if one["closed_dead_letters"] else ""
        print(f"  dead letters  {reasons}{closed}; smelt dlq ls {one['dataset']}")
    if one["waiting_files"]:
        print(
            f"  waiting       {counted(one['waiting_files'], 'file')}, the oldest {ago(one['oldest_waiting_seconds'])}"
        )
    if one["prepared_batches"]:
        print(f"  prepared      {one['prepared_batches']}, which the next start of the stream commits")
    if one["lost_data_files"]:
        lost = counted(one["lost_data_files"], "data file")
        print(f"  LOST          {lost} gone from the tables; smelt reconcile names the records")
    for table, why in one["set_aside"].items():
        print(f"  {_aside_line(table, why)}")
    if one["contract_file_differs"]:
        print(f"  contract      {one['contract_file_differs']}")
    for name in _LISTED:
        if one[name]:
            print(f"  {name:<12}  {counted(len(one[name]), 'file')} {_WORDS[name].format(dataset=one['dataset'])}")
            for path in one[name][:_MOST_LISTED]:
                print(f"                {path}")


def _aside_line(table: str, why: str) -> str:
    return f"maintenance   {table} is set aside: {why}; smelt maintain retry {table}"


def _silver_line(silver: dict[str, Any], dataset: str) -> str:
    rows, waiting = counted(silver["rows"], "row"), counted(silver["waiting_rows"], "row")
    rebuild = f"smelt silver {dataset} --rebuild"
    if silver["being_changed_by"]:
        return f"{rows}, being changed by {silver['being_changed_by']}"
    if silver["rebuild_due"]:
        return f"{rows} by old rules ({', '.join(silver['rebuild_due'])} changed); {rebuild}"
    if silver["stopped_by"]:
        return f"{rows}; it cannot go on: {silver['stopped_by']}; {rebuild}"
    is_built = silver["built_at"] is not None
    stands = f"{rows}, changed {ago(silver['built_seconds_ago'])}" if is_built else "not built yet"
    if silver["failed_checks"]:
        failed = ", ".join(silver["failed_checks"])
        return f"{stands}; {waiting} of bronze held back by checks ({failed}); smelt quality history {dataset}"
    return f"{stands}; {waiting} of bronze to read: smelt silver {dataset}" if silver["waiting_rows"] else stands
