"""A task that is one command: its words, its end, its lines; and the notice of a failure."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from conftest import ASKED_AT, a_context

from smelter.orchestration import smelt_operator
from smelter.orchestration.building import gold_words, silver_words, tell_of_gold, tell_of_silver, unless_dry_run
from smelter.orchestration.datasets import Dataset
from smelter.orchestration.forms import recover_words, window_params
from smelter.orchestration.housekeeping import remove_older
from smelter.orchestration.notice import on_failure, send_notice
from smelter.orchestration.smelt_operator import SmeltOperator

EVENTS = Dataset("events", "", Path("/nowhere"))
HOSTILE = ["$(touch x)", "'; rm -rf / #", '"', "../../etc/passwd", "--publish-anyway=x", "1; drop table bronze.events"]
HOSTILE += ["2026-11-01T00:00Z\n", "٢٠٢٦-11-01T00:00Z"]  # with a line break after it; in digits that no command takes


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))
    return tmp_path / "lake"


def run(*words: str, **more: Any) -> Any:
    return SmeltOperator(task_id="one", words=list(words), **more).execute(a_context())


def test_a_command_that_ends_well_ends_the_task_and_its_report_is_the_result(lake: Path) -> None:
    assert run("settings") is None
    told: list[Any] = []
    report = run("stream", "status", "events", tells=lambda said: told.append(said) or "fine")
    assert report[0]["dataset"] == "events"
    assert told == [report]


def test_what_a_task_keeps_of_its_report_is_its_result(lake: Path) -> None:
    said = run(
        "stream", "status", "events", tells=lambda _: "fine", keeps=lambda report, form: (report[0]["dataset"], form)
    )
    assert said == ("events", {"asked_at": ASKED_AT.isoformat()})


def test_words_that_ask_the_form_are_told_when_it_was_filled_in(lake: Path) -> None:
    heard: list[Any] = []
    SmeltOperator(task_id="one", words=lambda form: heard.append(form) or ["settings"]).execute(
        a_context(dataset="events")
    )
    assert heard == [{"dataset": "events", "asked_at": "2026-11-02T12:00:00+00:00"}]


def test_words_of_one_of_many_are_told_which_one_and_those_after_an_approval_what_was_approved(lake: Path) -> None:
    heard: list[Any] = []
    approved = {"subject": "Roll back?", "settled": "17"}
    context = {**a_context(), "ti": SimpleNamespace(xcom_pull=lambda task_ids: {"plan": approved}[task_ids])}
    one = SmeltOperator(
        task_id="one", about="bronze.events", plan="plan", words=lambda form: heard.append(form) or ["settings"]
    )
    one.execute(context)
    assert (heard[0]["about"], heard[0]["planned"]) == ("bronze.events", approved)


def test_what_names_a_person_is_in_no_failure_and_not_where_the_log_shows_the_command(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AirflowFailException) as refused:
        run("forget", "events", "--where=user_id = 'maria'", "--no-such-option")
    assert "maria" not in str(refused.value)
    assert "--where=…" in str(refused.value)
    log = capsys.readouterr().out
    assert "smelt forget events --where=… --no-such-option" in log
    assert "maria" not in log


ECHOES = [
    ('user_id = "alice@example.com"', '--where: `"alice@example.com"` is not a value of `user_id`'),
    ("user_id = 'alice smith'", "--where: `'alice smith'`: and alice alone, or Smith."),
    ("user_id = alice", "--where: `alice` is not a value"),
    ("user_id = alice@example.com", "--where: no field `alice`; no field `example.com`"),
    ("user_id = 'alice", "--where: `user_id = 'alice` is not a condition"),
    ("user_id = 'O''alice'", "Conversion Error: could not cast O'alice, or 'O''alice'"),
    ("user_id in ('bob', 'alice') and n = 471100004711", "--where: `(...'alice'` and 471100004711 and bob"),
    ("user_id = '" + "alice" * 60 + "'", "--where: `'" + "alice" * 20 + "` is not a value"),
    ("user_id = 'x-alice-1990'", "ALICE was born in 1990."),
]


@pytest.mark.parametrize(("condition", "echo"), ECHOES)
def test_no_part_of_a_condition_that_a_command_repeats_is_in_a_log_or_a_failure(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], condition: str, echo: str
) -> None:
    program = f"import sys; print({echo!r}, 'next: smelt dlq', sep=chr(10), file=sys.stderr); sys.exit(2)"
    monkeypatch.setattr(smelt_operator, "smelt", lambda _lake: [sys.executable, "-c", program])
    with pytest.raises(AirflowFailException) as refused:
        run("forget", "events", f"--where={condition}", tells=lambda _: "")
    log = capsys.readouterr().out
    for told in (str(refused.value), log):
        assert "smelt forget events --where=…" in told
        assert "next: smelt dlq" in told, "what helps stays"
        assert not any(name in told.lower() for name in ("alice", "smith", "bob", "example", "4711", "1990"))


def test_a_condition_is_told_to_the_command_alone_and_not_to_whoever_looks_at_processes(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition = "user_id = 'josé' " + "or user_id = 'alice'" * 900
    program = "import json, sys; print(json.dumps([sys.argv[1:], sys.stdin.buffer.read().decode()]))"
    monkeypatch.setattr(smelt_operator, "smelt", lambda _lake: [sys.executable, "-c", program])
    words, said = run("forget", "events", f"--where={condition}", "--dry-run", tells=lambda _: "")
    assert words == ["forget", "events", "--where=-", "--dry-run", "--json"]
    assert said == condition
    assert run("status", tells=lambda _: "") == [["status", "--json"], ""]
    monkeypatch.setattr(smelt_operator, "smelt", lambda _lake: [sys.executable, "-c", "import sys; sys.exit(2)"])
    with pytest.raises(AirflowFailException, match="ended with 2"):  # it ends without hearing it
        run("forget", "events", f"--where={condition}")


def test_where_nothing_is_hidden_every_word_is_shown(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AirflowFailException, match="say what to do: --drain"):
        run("ingest", "events")
    assert "…" not in capsys.readouterr().out


def test_a_command_that_fails_after_a_part_of_its_work_says_first_what_it_did(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import sys; print('{\"done\": 3}'); print('chatter', file=sys.stderr); sys.exit(3)"
    monkeypatch.setattr(smelt_operator, "smelt", lambda _lake: [sys.executable, "-c", program])
    with pytest.raises(AirflowException, match=r"ended with 3: 3 of 5 done\nchatter$"):
        run("maintain", "run", tells=lambda report: f"{report['done']} of 5 done")
    with pytest.raises(AirflowException, match=r"ended with 3: chatter$"):
        run("maintain", "run")


def test_what_is_refused_is_not_tried_again_and_what_is_missing_is(lake: Path) -> None:
    with pytest.raises(AirflowFailException, match="say what to do: --drain"):
        run("ingest", "events")
    with pytest.raises(AirflowException, match="nothing has been ingested for events") as missing:
        run("silver", "events")
    assert not isinstance(missing.value, AirflowFailException)


def test_before_the_first_record_the_timetables_are_green(lake: Path) -> None:
    assert "nothing has been ingested" in tell_of_silver(run(*silver_words(EVENTS), tells=tell_of_silver))
    assert "nothing has been ingested" in tell_of_gold(run(*gold_words(EVENTS), tells=tell_of_gold))
    run("reconcile", "events", "--if-there")


def test_what_begins_is_done_before_the_command(lake: Path) -> None:
    done: list[str] = []
    run("settings", begins=lambda: done.append("began"))
    assert done == ["began"]


def form(**answers: Any) -> ParamsDict:
    filled = ParamsDict(window_params())
    filled.update(answers)
    filled.validate()
    return filled


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", ["since", "until"])
def test_a_form_takes_a_moment_and_nothing_else(field: str, text: str) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        form(**{field: text})


@pytest.mark.parametrize("text", HOSTILE)
def test_what_gets_past_a_form_is_one_word_and_refused_by_the_command(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    words = recover_words(EVENTS, {"since": text, "until": None, "dry_run": True})
    assert words == ["ingest", "events", "--recover", f"--since={text}", "--dry-run"]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AirflowFailException):
        run(*words)
    assert not (tmp_path / "x").exists()


def test_the_form_becomes_the_words_of_a_recovery() -> None:
    since, until = "2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00"
    filled = {**form(since=since, until=until), "dry_run": False}
    assert recover_words(EVENTS, filled)[3:] == [f"--since={since}", f"--until={until}", "--interrupt"]
    assert recover_words(EVENTS, {**form(), "dry_run": False}) == ["ingest", "events", "--recover", "--interrupt"]


def test_a_dry_run_builds_nothing_and_a_rebuild_is_asked_for_by_its_box() -> None:
    with pytest.raises(AirflowSkipException):
        unless_dry_run(["silver"], {"dry_run": True, "rebuild": True})
    assert unless_dry_run(["silver"], {"dry_run": False, "rebuild": True}) == ["silver", "--rebuild"]
    assert unless_dry_run(["silver"], {"dry_run": False, "rebuild": False}) == ["silver"]


def test_the_log_of_silver_shows_every_check() -> None:
    good = {"ok": True, "sentence": "amounts are sane: 0 of 5", "on_failure": "stop"}
    bad = {"ok": False, "sentence": "few without a product: 4 of 5", "on_failure": "warn"}
    facts = {"dataset": "events", "added": 3, "read": 5, "rows": 9, "published_anyway": None}
    report = {**facts, "slices": [{"checks": [good, bad]}]}
    said = tell_of_silver(report).splitlines()
    assert said[1:] == ["  ✓ amounts are sane: 0 of 5", "  ✗ warn: few without a product: 4 of 5"]


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    heard: list[dict[str, Any]] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("SMELTER_WEBHOOK", f"http://127.0.0.1:{server.server_port}/secret-path")
        yield heard
        server.shutdown()


FAILED = SimpleNamespace(dag_id="silver_events", task_id="build", run_id="scheduled__1", try_number=2)


def test_a_failure_is_told_to_the_webhook_and_to_the_log(
    webhook: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    problem = ValueError("amounts are insane\n  row 7: the secret of a customer")
    on_failure({"task_instance": FAILED, "exception": problem})  # type: ignore[arg-type]
    (told,) = webhook
    assert told["text"] == "Smelter: silver_events.build failed in scheduled__1: amounts are insane"
    assert (told["dag"], told["task"], told["attempt"]) == ("silver_events", "build", "2")
    assert "amounts are insane" in caplog.text
    assert "secret-path" not in caplog.text
    assert "customer" not in json.dumps(told)


def test_a_webhook_that_does_not_answer_fails_nothing_and_its_address_stays_secret(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SMELTER_WEBHOOK", "http://127.0.0.1:9/secret-path")
    send_notice("something failed")
    assert "could not be sent" in caplog.text
    assert "secret-path" not in caplog.text


def test_old_logs_go_and_new_ones_and_links_stay(tmp_path: Path) -> None:
    import os

    logs = tmp_path / "logs"
    (logs / "old").mkdir(parents=True)
    (logs / "new").mkdir()
    for name in ("old/a.log", "new/b.log", "new/c.log"):
        (logs / name).write_text("x")
    outside = tmp_path / "outside.log"
    outside.write_text("x")
    (logs / "new" / "link.log").symlink_to(outside)
    for old in (logs / "old" / "a.log", logs / "new" / "c.log", outside):
        os.utime(old, (0, 0))
    assert remove_older(logs, 1_000_000.0) == 2
    assert sorted(str(path.relative_to(logs)) for path in logs.rglob("*")) == ["new", "new/b.log", "new/link.log"]
    assert outside.exists()
