"""Forgetting, recovery and rollback meet: nobody comes back, and what was begun comes to its end."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from people import (  # noqa: F401
    PERSON,
    MakePeople,
    People,
    event,
    found_in_tables,
    make_people,
    people,
)
from sheds import Shed, later

from bronze.accounts import check
from bronze.crashes import Crash, crash_at
from bronze.streams import LIMITS
from smelter.bronze.recovery import recover
from smelter.bronze.rewind import rewind
from smelter.bronze.stream import Hooks as StreamHooks
from smelter.errors import Refused
from smelter.lake.commits import snapshot_of
from smelter.lake.home import BRONZE, DEAD_LETTERS, OPS, QUALITY, SILVER
from smelter.lake.lease import lease
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.forget_left import still_there
from smelter.maintenance.holds import expiry_of
from smelter.maintenance.rollback import rollback, what_would_be
from smelter.maintenance.subjects import subjects_of
from smelter.quality.records import record
from smelter.quality.verdict import Decision, Example, Question, Result, Verdict
from smelter.silver.build import Wishes, build_silver
from smelter.supervise import lock
from smelter.supervise.lock import only_driver

RUN = "maintain:20260101-120000-0a1b"
ZOE = "user_id = 'zoe'"
_SMELT = "from smelter.cli.main import main; main()"


def test_a_snapshot_that_somebody_holds_is_promised_no_day(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("ann", 2))
    table = load_table(people.lake, BRONZE, people.name)
    with table.manage_snapshots() as snapshots:
        snapshots.create_tag(table.metadata.current_snapshot_id, "audit")
    (snapshots_left,) = [one for one in still_there(people.lake, people.forget(ZOE), []) if "snapshots" in one.what]
    assert (snapshots_left.goes, snapshots_left.why) == (None, "the tag audit is on it")


@pytest.mark.parametrize("namespace", [BRONZE, DEAD_LETTERS])
def test_the_snapshot_that_has_the_person_goes_though_no_batch_has_come_since(people: People, namespace: str) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("zoe", 2, surprise=1), event("ann", 3), event("ann", 4, surprise=1))
    before = load_table(people.lake, namespace, people.name)
    token, old = before.scan().to_arrow()["_batch"][0].as_py(), before.metadata.current_snapshot_id
    people.forget(ZOE)
    table = load_table(people.lake, namespace, people.name)
    (subject,) = subjects_of(people.lake, [f"{namespace}.{people.name}"])
    assert expiry_of(table.metadata, subject, later(hours=25)).snapshots == (old,)
    assert snapshot_of(table.metadata, token).snapshot_id == old  # type: ignore[union-attr]
    table.maintenance.expire_snapshots().by_id(old).commit()  # type: ignore[arg-type]
    left = load_table(people.lake, namespace, people.name).metadata
    assert snapshot_of(left, token) is not None, "a restart still knows that the batch is there"
    people.drain_here()
    people.reconciled()


def test_nobody_is_forgotten_while_records_of_theirs_may_be_in_no_table(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("ann", 1))
    first = load_table(people.lake, BRONZE, people.name).metadata.current_snapshot_id
    people.arrive("b.json", event("zoe", 2))
    with pytest.raises(Crash):
        rewind(people.lake, people.contract, LIMITS, BRONZE, first, StreamHooks(reach=crash_at("rolled_back")))  # type: ignore[arg-type]
    with pytest.raises(Refused, match="was begun and has not ended") as refused:
        people.forget(ZOE)
    assert refused.value.next_step == f"smelt ingest {people.name} --recover ends it; then run this again"


def test_nobody_is_forgotten_beside_a_recovery_and_a_recovery_waits_for_who_is_forgetting(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1))
    with (
        only_driver(people.lake.run_folder(people.name), people.name, lock.RECOVER),
        pytest.raises(Refused, match="was begun and has not ended"),
    ):
        people.forget(ZOE)
    waits = pytest.MonkeyPatch()
    with waits.context() as patched, lease(people.lake, BRONZE, people.name, "smelt forget"):
        patched.setattr("smelter.bronze.recovery._OTHERS_SECONDS", 0.1)
        with pytest.raises(Refused, match="being changed by smelt forget"):
            recover(people.lake, people.contract, LIMITS)


def test_a_rollback_of_bronze_that_was_killed_is_finished_by_the_same_command(shed: Shed) -> None:
    shed.commit(2)
    first = shed.table().metadata.current_snapshot_id
    assert first is not None
    shed.commit(2)
    before = [(row["_source"], row["_position"]) for row in shed.rows()]
    with pytest.raises(Crash):
        rewind(shed.lake, shed.contract, LIMITS, BRONZE, first, StreamHooks(reach=crash_at("rolled_back")))
    words = ["--lake", str(shed.lake.root), "maintain", "rollback", f"bronze.{shed.name}", "--to", str(first)]
    smelt = [sys.executable, "-c", _SMELT, *words, "--and-reingest"]
    asked = subprocess.run([*smelt, "--dry-run"], capture_output=True, text=True, check=False)
    assert (asked.returncode, "was begun and not finished" in asked.stderr) == (1, True)
    done = subprocess.run([*smelt, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["reingested"]["written"] == 4
    assert told["from_snapshot"] == told["to_snapshot"], "it had gone back already"
    assert [(row["_source"], row["_position"]) for row in shed.rows()] == before
    assert reconcile(shed.lake, shed.name).is_balanced
    check(shed)


def test_what_checks_showed_of_a_person_does_not_come_back_with_a_rollback_of_their_verdicts(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("ann", 2))
    source, at = people.source("a.json"), datetime.now(UTC)
    examples = (Example(source, 0, "zoe"), Example(source, 1, "ann"))
    result = Result("short ids", "regex", "user_id", "warn", False, 2.0, "short", "2 of 2 rows fail", 2, 2, examples)
    verdict = Verdict((result,), 2, at, json.dumps({"results": []}))
    record(people.lake, Question(people.name, "people@1", "increment", "run 1", at), verdict, Decision.PUBLISHED)
    first = load_table(people.lake, OPS, QUALITY).metadata.current_snapshot_id
    assert first is not None
    people.forget(ZOE)
    assert found_in_tables(people.lake, "zoe") == []
    (subject,) = subjects_of(people.lake, ["ops.quality"])
    rollback(people.lake, subject, first, RUN)
    assert found_in_tables(people.lake, "zoe") == []
    assert found_in_tables(people.lake, "ann") == [f"bronze.{people.name}", "ops.quality"]


@pytest.mark.jvm
def test_silver_does_not_go_back_behind_a_rebuild_which_may_have_had_other_rules(make_people: MakePeople) -> None:  # noqa: F811
    people = make_people()  # noqa: F811
    people.arrive("a.json", event("ann", 1), event("bob", 2))
    people.build_silver()
    first = load_table(people.lake, SILVER, people.name).metadata.current_snapshot_id
    people.arrive("b.json", event("cid", 3))
    people.build_silver()
    second = load_table(people.lake, SILVER, people.name).metadata.current_snapshot_id
    assert first is not None
    assert second is not None
    (subject,) = subjects_of(people.lake, [f"silver.{people.name}"])
    rollback(people.lake, subject, first, RUN)
    assert rollback(people.lake, subject, second, RUN).to_snapshot == second, "and can itself be taken back"
    build_silver(people.lake, people.name, Wishes(rebuild=True), spark=people.spark)
    with pytest.raises(Refused, match="was built anew since") as refused:
        what_would_be(people.lake, subject, first)
    assert refused.value.next_step == f"smelt silver {people.name} --rebuild"


@pytest.mark.jvm
def test_who_rolls_silver_back_behind_a_forgetting_is_told_that_the_person_is_in_it(make_people: MakePeople) -> None:  # noqa: F811
    people = make_people()  # noqa: F811
    people.arrive("a.json", event("ann", 1), event("zoe", 2))
    people.build_silver()
    first = load_table(people.lake, SILVER, people.name).metadata.current_snapshot_id
    assert first is not None
    people.forget(ZOE)
    people.build_silver()
    (subject,) = subjects_of(people.lake, [f"silver.{people.name}"])
    done = rollback(people.lake, subject, first, RUN)
    assert "who was forgotten since is in it until then" in done.next
    people.build_silver()
    assert [user for user, _note in people.silver().values()] == ["ann"]
