"""`smelt demo`: the whole job on a small, hostile sample, one line per step."""

from __future__ import annotations

import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from smelter.cli.charts import bars
from smelter.cli.limits import limits_of
from smelter.cli.session import Session, print_table, session_of
from smelter.contracts import Contract
from smelter.errors import Refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from smelter.bronze.batch import Report
    from smelter.explore import Explorer
    from smelter.lake.home import Lake
    from smelter.producer import Produced

DATASET = "events"
EVENTS = 5_000
EVENTS_PER_FILE = 100
FAULT_RATE = 0.02
SEED = 7
_BY_VERDICT = """
    select 'accepted' as verdict, count(*) as records from bronze.events where list_contains(?, _source)
    having count(*) > 0
    union all
    select reason, count(*) from dead_letters.events where list_contains(?, _source) group by reason
"""
_REVENUE = """
    select product_id, sum(revenue)::double as revenue from gold.revenue_per_product_day
    where revenue is not null group by product_id order by revenue desc, product_id limit 6
"""
_QUESTIONS = {
    "How long do people stay, and how many of them buy?": """
        select case when events = 1 then '1 event' when events <= 5 then '2 to 5' when events <= 20 then '6 to 20'
                    else 'more than 20' end as events_in_session,
               count(*) as sessions, count(distinct user_id) as people, count(*) filter (purchases > 0) as with_purchase
        from gold.sessions group by all order by min(events)
    """,
    "What is wrong with the records that were not accepted?": """
        select reason, count(*) as records, count(distinct _source) as files
        from dead_letters.events group by reason order by records desc, reason limit 5
    """,
}


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("demo")(demo)


def demo(context: typer.Context) -> None:
    """Run the whole job on a small, hostile sample in the lake, and print what it did; a second run changes nothing."""
    from smelter.lake.layout import ensure_layout

    session = session_of(context)
    contract = session.contract(DATASET)

    started = time.monotonic()
    ensure_layout(session.settings.lake)
    _done(f"lake {session.settings.lake}", started)

    started = time.monotonic()
    produced = _produce(contract, session.landing(contract))
    _done(
        f"produced {produced.records:,} records in {len(produced.files)} files, every fault at {FAULT_RATE:.0%}",
        started,
    )

    if produced.interrupted:
        raise KeyboardInterrupt

    _build(session, contract, produced)
    _print_next(session)


def _build(session: Session, contract: Contract, produced: Produced) -> None:
    """Bronze, silver and gold in one Spark session, then what they answer."""
    from smelter.explore import connect
    from smelter.lake.session import start_spark
    from smelter.quality.gx import warm_up

    warm_up()  # while the JVM starts
    lake = session.open_lake()
    started = time.monotonic()
    spark = start_spark(lake, "smelter demo", lake.job_folder("demo", DATASET), builds=True)
    _ingest(session, contract, spark)
    _done("ingested: every file is read once, judged and committed", started)
    with connect(session.settings.lake) as explorer:
        _summarize(produced, explorer, session.landing(contract))
        _prove(session)
    _silver(lake, spark)
    _gold(session, lake, spark)
    spark.stop()
    with connect(session.settings.lake) as explorer:
        _ask(explorer)


def _produce(contract: Contract, landing: Path) -> Produced:
    from smelter.producer import Faults, Plan, produce

    faults = Faults(**{fault.name: FAULT_RATE for fault in fields(Faults)})
    plan = Plan(count=EVENTS, to=landing, seed=SEED, records_per_file=EVENTS_PER_FILE, faults=faults)
    return produce(contract, plan)


def _ingest(session: Session, contract: Contract, spark: SparkSession) -> None:
    """Drain the landing folder through Spark; a second run finds nothing new."""
    from smelter.bronze.stream import Hooks, Pace, ingest

    pace = Pace(max_files=session.settings.max_files_per_batch)
    ingest(session.open_lake(), contract, limits_of(session.settings), pace, Hooks(report=_print_batch), spark)


def _print_batch(report: Report) -> None:
    print(
        f"  batch {report.batch}: {report.files} files, {report.records:,} records, {report.seconds:.1f} s", flush=True
    )


def _summarize(produced: Produced, explorer: Explorer, landing: Path) -> None:
    """What the producer planned beside what the tables hold; a difference is a failure."""
    sources = [file.as_uri() for file in produced.files]
    found: dict[str, int] = dict(explorer.execute(_BY_VERDICT, [sources, sources]).fetchall())
    planned = {"accepted": produced.good, **produced.by_reason}
    verdicts = sorted(found.keys() | planned.keys())
    rows = [
        (
            name,
            "bronze" if name == "accepted" else "dead_letters",
            f"{planned.get(name, 0):,}",
            f"{found.get(name, 0):,}",
        )
        for name in verdicts
    ]
    print_table(("verdict", "table", "planned", "found"), rows, right=("planned", "found"))
    if found != planned:
        raise Refused(
            "the tables do not hold what the producer planned",
            where=str(landing),
            data="nothing is lost: the landing files are all there",
            next_step=f"smelt reconcile {DATASET}",
        )


def _prove(session: Session) -> None:
    """Count the sources a second time, with code that the judge does not use."""
    from smelter.ledger.reconcile import reconcile

    started = time.monotonic()
    found = reconcile(session.open_lake(), DATASET)
    if not found.is_balanced:
        raise Refused("records are missing or doubled", next_step=f"smelt reconcile {DATASET}")
    _done(
        f"reconciled: {found.records:,} records in {found.sources} files = "
        f"{found.bronze:,} in bronze + {found.dead_letters:,} in dead letters, each in exactly one place",
        started,
    )


def _silver(lake: Lake, spark: SparkSession) -> None:
    """Each thing once; copies of files and repeated records are in bronze, and not here."""
    from smelter.silver.build import build_silver

    started = time.monotonic()
    report = build_silver(lake, DATASET, spark=spark)
    if not report.taken:
        _done(f"silver: nothing new, {report.rows:,} events", started)
        return
    results = report.taken[-1].verdict.results
    checks = f"{sum(one.ok for one in results)} of {len(results)} checks hold"
    read, twice = report.total("read"), report.total("read") - report.total("added")
    _done(f"silver: {report.rows:,} events of {read:,} rows, {twice:,} sent twice; {checks}", started)


def _gold(session: Session, lake: Lake, spark: SparkSession) -> None:
    """The answers, of which only the windows that changed are computed."""
    from smelter.gold.build import build_gold
    from smelter.gold.models import load_models
    from smelter.lake.home import BRONZE
    from smelter.lake.tables import active_contract, load_table

    started = time.monotonic()
    contract = active_contract(load_table(lake, BRONZE, DATASET))
    report = build_gold(lake, contract, load_models(session.settings.models), spark=spark)
    for failed in report.failed:
        raise failed.problem
    written = sum(one.written for one in report.built)
    _done(f"gold: {len(report.built)} tables, {written:,} rows written", started)


def _ask(explorer: Explorer) -> None:
    """Answers in SQL, from the live tables, one of them as a chart."""
    print("\nWhich products bring in most?")
    for line in bars(explorer.execute(_REVENUE).fetchall(), " EUR"):
        print(f" {line}")
    for question, query in _QUESTIONS.items():
        answer = explorer.execute(query)
        columns = answer.columns
        print(f"\n{question}")
        print_table(columns, [tuple(map(str, row)) for row in answer.fetchall()], right=columns[1:])


def _print_next(session: Session) -> None:
    smelt = sys.argv[0] if Path(sys.argv[0]).name == "smelt" else "smelt"  # so that the lines can be pasted
    on_lake = f" --lake {session.lake}" if session.lake else ""
    print("Next:")
    print(f"  {smelt} status{on_lake}")
    print(f'  {smelt} sql "from dead_letters.{DATASET} limit 5"{on_lake}')
    print(f"  {smelt} produce {DATASET} --count 1000{on_lake}")
    print(f"  {smelt} ingest {DATASET} --drain{on_lake}")


def _done(what: str, started: float) -> None:
    print(f"✓ {what}  {time.monotonic() - started:.1f} s", flush=True)
