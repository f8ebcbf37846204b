"""The rules of a form, and of a question to a person. Each message says how to comply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import ASKING, DAGS, PLATFORM, each, parse, waits_for_a_person

BY_HAND = "by_hand"
NOTHING_FOLLOWS = r"(?![\s\S])"
DAY_SECONDS = 86_400


def test_a_dag_that_is_started_by_hand_has_a_form_with_a_type_and_a_title_for_every_field(
    found: dict[str, Any],
) -> None:
    by_hand = [(name, dag) for name, dag in each(found) if BY_HAND in dag["tags"]]
    assert len(by_hand) == 7
    for name, dag in each(found):
        assert (dag["schedule"] == "NullTimetable") == (BY_HAND in dag["tags"]), (
            f"{name}: tag it {BY_HAND}, or schedule it"
        )
        for field, schema in dag["params"].items():
            assert schema.get("type"), f"{name}: the field {field} has no type, so anything would be taken"
            assert schema.get("title"), f"{name}: the field {field} needs a title that people understand"
    forms = {name: set(dag["params"]) for name, dag in by_hand}
    assert forms["backfill_events"] == {"since", "until", "rebuild", "dry_run"}
    assert forms["replay_dead_letters"] == {"dataset", "reason", "field", "since", "until", "dry_run"}
    assert forms["undo_replay"] == {"run", "because", "dry_run"}
    assert forms["rollback_table"] == {"table", "to", "and_reingest", "dry_run"}
    assert forms["forget_person"] == {"dataset", "where", "because", "dry_run"}
    assert set(found["dags"]["maintenance"]["params"]) == {"tables", "steps", "dry_run"}


def test_every_text_of_a_form_is_chosen_from_a_list_or_kept_by_a_pattern_to_its_end(found: dict[str, Any]) -> None:
    for name, dag in each(found):
        for field, schema in dag["params"].items():
            for one in (schema, schema.get("items", {"type": "array" if "array" in schema["type"] else "null"})):
                kinds = one["type"] if isinstance(one["type"], list) else [one["type"]]
                pattern = one.get("pattern", "")
                is_kept = pattern.startswith("^") and pattern.endswith(NOTHING_FOLLOWS)
                assert "string" not in kinds or "enum" in one or is_kept, (
                    f"{name}: the field {field} takes any text; give it enum= or a pattern from ^ to {NOTHING_FOLLOWS} "
                    "(with $, a line break may follow)"
                )
                assert "array" not in kinds or "items" in one, f"{name}: the field {field} takes any list; give items="


@pytest.mark.parametrize("name", ["replay_dead_letters", "forget_person"])
def test_a_form_about_a_dataset_offers_those_that_there_are(found: dict[str, Any], name: str) -> None:
    assert found["dags"][name]["params"]["dataset"]["enum"] == ["events", "hourly", "taxi_trips"]


def test_without_any_contract_the_platforms_own_dags_are_there_and_a_replay_has_nothing_to_offer(
    tmp_path: Path,
) -> None:
    (tmp_path / "contracts").mkdir()
    environment = {"SMELTER_CONTRACTS": str(tmp_path / "contracts"), "SMELTER_LAKE": str(tmp_path / "lake")}
    found = parse(DAGS, tmp_path, environment)
    assert found["errors"] == {}
    assert set(found["dags"]) == PLATFORM
    for name in ("replay_dead_letters", "forget_person"):
        assert found["dags"][name]["params"]["dataset"]["enum"] == []


def test_whoever_waits_for_a_person_holds_up_nobody_and_takes_silence_for_a_no(found: dict[str, Any]) -> None:
    asking = [(name, dag) for name, dag in each(found) if waits_for_a_person(dag)]
    assert {name for name, _dag in asking} == ASKING
    for name, dag in asking:
        task = dag["tasks"]["approve"]
        assert list(dag["tasks"])[:2] == ["plan", "approve"], f"{name}: a person is asked about a plan; make one first"
        assert task["after"] == ["plan"], f"{name}: approve comes after plan, and before what changes something"
        assert len(dag["tasks"]) == 3, f"{name}: one task does what was approved"
        assert task["pool"] == "streams", f"{name}: a question starts no JVM; ApproveOperator asks beside builds"
        assert task["without_answer"] == ["Reject"], f"{name}: nobody's silence changes data; use ApproveOperator"
        assert DAY_SECONDS <= task["patience"] <= 30 * DAY_SECONDS, (
            f"{name}: people have weekends, and Airflow forgets after 30 days: use approval.PATIENCE"
        )
        assert "dry_run" in dag["params"], f"{name}: a plan without a question is asked for by dry_run"
