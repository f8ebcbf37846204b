"""`smelt check`: the table for people, the JSON for programs, and the exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from smelter.cli.main import run

SMELT = [sys.executable, "-c", "from smelter.cli.main import main; main()"]
FAULTS = [
    "--corrupt", "--invalid", "--missing", "--wrong-type", "--extra", "--duplicate", "--late", "--out-of-order",
    "--future", "--nulls", "--empty-file", "--duplicate-file", "--garbage",
]  # fmt: skip
GOOD = (
    '{"user_id":"u1","event_id":"e1","event_timestamp":"2021-05-31T10:00:00Z",'
    '"event_type":"purchase","properties":{"n":1}}'
)


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["check", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("form", ["array", "ndjson", "pretty"])
@pytest.mark.parametrize("dataset", ["events", "taxi_trips"])
@pytest.mark.parametrize("packed", [[], ["--gzip"]])
def test_with_every_fault_at_5_percent_every_verdict_and_reason_equals_the_truth(
    dataset: str, form: str, packed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth_file = tmp_path / "truth.ndjson"
    rates = [word for fault in FAULTS for word in (fault, "5%")]
    made = [
        "produce",
        dataset,
        "--count",
        "3000",
        "--records-per-file",
        "50",
        "--seed",
        "11",
        "--format",
        form,
        *packed,
    ]
    to = ["--start", "2026-03-01T00:00:00Z", "--to", str(tmp_path / "data"), "--truth", str(truth_file), *rates]
    assert run([*made, *to]) == 0
    capsys.readouterr()
    truth = [json.loads(line) for line in truth_file.read_text("utf-8").splitlines()]
    dead = {(t["source"], t["position"]): (t["reason"], t["field"]) for t in truth if t["verdict"] == "dead"}
    good = [t for t in truth if t["verdict"] == "good"]

    code, found = checked(capsys, str(tmp_path / "data"), "--dataset", dataset)

    assert code == 1
    reasons = {(letter["source"], letter["position"]): letter["reason"] for letter in found["letters"]}
    assert reasons == {place: reason for place, (reason, _) in dead.items()}
    for letter in found["letters"]:
        field = dead[letter["source"], letter["position"]][1]
        assert field is None or field in [error["field"] for error in letter["errors"]]
    assert (found["records"], found["accepted"], found["dead"]) == (len(dead) + len(good), len(good), len(dead))
    assert {"truncated_batch", "not_json", "missing_field", "wrong_type", "unknown_field"} <= set(found["by_reason"])


def test_the_json_has_the_promised_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    file.write_text(GOOD + "\n" + GOOD.replace('"e1"', "5"))
    code, found = checked(capsys, str(file), "--dataset", "events")
    assert code == 1
    assert found == {
        "files": 1,
        "records": 2,
        "accepted": 1,
        "dead": 1,
        "by_reason": {"wrong_type": 1},
        "letters": [
            {
                "source": str(file),
                "position": 1,
                "reason": "wrong_type",
                "errors": [
                    {
                        "rule": "type",
                        "field": "event_id",
                        "found": "5",
                        "message": "`event_id` should be string and is a number: 5",
                    }
                ],
                "raw": GOOD.replace('"e1"', "5"),
            }
        ],
    }


def test_all_good_is_exit_0_and_bad_is_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    file.write_text(GOOD)
    assert run(["check", str(file), "--dataset", "events"]) == 0
    assert "1 file, 1 record: 1 good, 0 dead under events@1" in capsys.readouterr().out
    file.write_text("rubbish")
    assert run(["check", str(file), "--dataset", "events"]) == 1
    said = capsys.readouterr().out
    assert "not_json" in said
    assert f"{file}:0" in said


def test_letters_can_be_limited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    file.write_text("rubbish\n" * 30)
    code, found = checked(capsys, str(file), "--dataset", "events", "--letters", "3")
    assert (code, len(found["letters"]), found["dead"]) == (1, 3, 30)
    run(["check", str(file), "--dataset", "events", "--letters", "2"])
    said = capsys.readouterr().out
    assert said.count("not JSON: at byte 0") == 2
    assert "28 not shown" in said


def test_folders_are_read_with_their_subfolders_and_without_unfinished_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "2026").mkdir()
    for name in ("a.json", "2026/b.json", "c.tmp", ".d"):
        (tmp_path / name).write_text(GOOD)
    code, found = checked(capsys, str(tmp_path), "--dataset", "events")
    assert (code, found["files"], found["records"]) == (0, 2, 2)


def test_standard_input_is_a_source() -> None:
    done = subprocess.run(
        [*SMELT, "check", "-", "--dataset", "events", "--json"], input=GOOD, capture_output=True, text=True
    )
    assert (done.returncode, json.loads(done.stdout)["accepted"]) == (0, 1)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["check", "/no/such/file", "--dataset", "events"], 3, "there is no file or folder /no/such/file"),
        (["check", "/", "--dataset", "evnets"], 3, "did you mean `events`?"),
        (["check", "/", "--dataset", "../events"], 3, "there is no contract for `../events`"),
        (["check", "/"], 2, "--dataset"),
        (["check", "--dataset", "events"], 2, "PATH"),
        (["chek"], 2, "chek"),
        (["check", "/", "--dataset", "events", "--letters", "-1"], 2, "--letters"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    words: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == code
    captured = capsys.readouterr()
    assert says in captured.err
    assert "Traceback" not in captured.err


def test_odd_texts_are_printed_without_breaking_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"\x1b[31mred\x07 \xff [bold]x[/bold]\n")
    assert run(["check", str(file), "--dataset", "events"]) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "[bold]x[/bold]" in said


def test_a_file_that_cannot_be_looked_at_is_one_letter_and_a_pipe_is_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(GOOD)
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    code, found = checked(capsys, str(tmp_path), "--dataset", "events")
    assert (code, found["files"], found["accepted"], found["by_reason"]) == (1, 2, 1, {"file_unreadable": 1})


def test_the_table_says_which_field_and_rule_to_look_at_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = GOOD.replace('"e1"', "5")
    (tmp_path / "a.json").write_text("\n".join([bad, bad, GOOD.replace("purchase", "buy")]))
    run(["check", str(tmp_path), "--dataset", "events", "--letters", "0"])
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["wrong_type", "event_id", "type", "2"] in said
    assert ["rule_broken", "event_type", "one_of", "1"] in said


def test_file_names_are_printed_without_breaking_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a\x1b[31m\n.json").write_text("rubbish")
    run(["check", str(tmp_path), "--dataset", "events"])
    assert "a\\x1b[31m\\n.json:0  not_json" in capsys.readouterr().out


def test_a_terminal_without_our_letters_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(GOOD.replace("u1", "é€" * 200).replace('"e1"', "5"))
    words = [*SMELT, "check", str(tmp_path), "--dataset", "events"]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_ctrl_c_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text((GOOD + "\n") * 1_000_000)
    words = [*SMELT, "check", str(tmp_path), "--dataset", "events", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as check:
        assert check.stdout is not None
        check.stdout.read(10)  # it has begun
        check.send_signal(signal.SIGINT)
        _, said = check.communicate()
    assert (check.returncode, said) == (130, b"stopped\n")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("rubbish\n" * 50_000)
    words = [*SMELT, "check", str(tmp_path), "--dataset", "events", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as check:
        assert check.stdout is not None
        assert check.stderr is not None
        check.stdout.read(100)
        check.stdout.close()
        assert check.stderr.read() == b""
        assert check.wait() == 0
