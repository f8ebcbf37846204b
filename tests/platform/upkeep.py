"""What people do to tables: they are looked after and rolled back, and a person is forgotten. Long: `make soak`.

It goes on from what `test_platform.py` did, in the same run.
"""

from __future__ import annotations

import json

import pytest
from acting import answer, ends, is_asked, mapped, reconciles, trigger
from browsing import Browser
from platforms import Platform

pytestmark = pytest.mark.jvm
PERSON = "event_id = 'by-hand-0'"  # one of the four letters that were written by hand
NO_CONDITION = "user_id = ''; drop table bronze.events; -- {{ 7 * 7 }}"


def first_snapshot(platform: Platform, table: str) -> str:
    found = json.loads(platform.smelt("maintain", "snapshots", table, "--json").stdout)
    return str(found[-1]["snapshot"])


def test_in_a_browser_a_person_sees_each_table_by_its_name_while_others_ask_to_roll_back_and_to_forget(
    platform: Platform, browser: Browser
) -> None:
    back = trigger(platform, "rollback_table", table="silver.events", to=first_snapshot(platform, "silver.events"))
    forget = trigger(platform, "forget_person", dataset="events", where=PERSON, because="{{ 7 * 7 }}")
    refused = trigger(platform, "forget_person", dataset="events", where=NO_CONDITION)
    browser.log_in("admin", platform.passwords()["admin"])
    browser.fill_maintenance("bronze.events", "silver.events", "dead_letters.events", steps=("compact", "expire"))

    assert ends(platform, "forget_person", refused, "plan") == "failed", "no condition is what the command says"
    is_asked(platform, "rollback_table", back)
    is_asked(platform, "forget_person", forget)
    assert answer(platform, "forget_person", forget, "Approve", user="viewer") == 403
    assert answer(platform, "rollback_table", back, "Approve") == 200
    plan = (PERSON, "because {{ 7 * 7 }}", "dead letters: 1 row would leave", "would still be there: landing file")
    browser.decide("Approve", "Forget rows of events?", *plan)
    assert ends(platform, "rollback_table", back, "rollback") == "success"
    assert ends(platform, "forget_person", forget, "forget", 240) == "success"
    assert platform.answers("select count(*) from dead_letters.events where raw like '%by-hand-0%'") == [(0,)]
    assert platform.answers("select count(*) from ops.forgotten where why = 'forget'") == [(1,)]
    reconciles(platform)
    past = json.loads(platform.smelt("maintain", "history", "silver.events", "--json").stdout)
    (back_then,) = [step for entry in past for step in entry["steps"] if step["step"] == "rollback"]
    assert back_then["after"]["rows"] < back_then["before"]["rows"]  # silver may have read everything again by now

    run = next(one["dag_run_id"] for one in platform.runs("maintenance") if one["run_type"] == "manual")
    assert ends(platform, "maintenance", run, "outcome") == "success"
    states = mapped(platform, "maintenance", run)
    assert states == dict.fromkeys(("bronze.events", "silver.events", "dead_letters.events"), "success")
    assert platform.task("maintenance", run, "lake")["state"] == "skipped", "the form did not ask for it"
    browser.show("maintenance", f"/dags/maintenance/runs/{run}", *states)
