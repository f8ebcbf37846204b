from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from smelter.cli.main import run as smelt
from smelter.cli.produce import rate_of

START = "2026-11-16T11:43:00Z"


def words(*extra: str) -> list[str]:
    return ["produce", "events", "--seed", "7", "--start", START, *extra]


def test_files_land_in_the_folder_that_the_contract_names(tmp_path, capsys):
    assert smelt(["--lake", str(tmp_path), *words("--count", "3")]) == 0
    landing = tmp_path / "landing/events"
    assert (landing / "2026/11/16/events-20261116T114300Z-s7-00001.json").is_file()
    assert f"smelt check {landing} --dataset events" in capsys.readouterr().out


def test_a_folder_of_your_own_gets_the_files_directly(tmp_path, capsys):
    assert smelt(words("--count", "5", "--records-per-file", "2", "--to", str(tmp_path), "--format", "ndjson")) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"events-20261116T114300Z-s7-0000{number}.ndjson" for number in (1, 2, 3)
    ]


def test_the_summary_as_json_tells_everything(tmp_path, capsys):
    assert smelt(words("--count", "200", "--to", str(tmp_path), "--missing", "50%", "--json")) == 0
    said = json.loads(capsys.readouterr().out)
    assert said.keys() == {"dataset", "files", "records", "good", "dead", "by_reason", "to", "seed", "start"}
    assert (said["records"], said["seed"], said["start"], said["files"]) == (200, 7, START, 1)
    assert said["by_reason"] == {"missing_field": said["dead"]}
    assert 60 < said["dead"] < 140


def test_the_table_for_people_counts_by_reason_and_shows_the_seed(tmp_path, capsys):
    assert smelt(words("--count", "10", "--to", str(tmp_path), "--garbage", "1")) == 0
    said = capsys.readouterr().out
    assert "dead: not_json" in said
    assert "seed 7" in said


@pytest.mark.parametrize("form", ["array", "ndjson", "pretty"])
def test_a_stream_is_one_document_and_the_summary_stays_out_of_it(capfdbinary, tmp_path, form):
    truth = tmp_path / "truth"
    options = ("--count", "25", "--records-per-file", "10", "--to", "-", "--format", form, "--truth", str(truth))
    assert smelt(words(*options, "--gzip")) == 0
    told = [json.loads(line) for line in truth.read_text().splitlines()]
    text = gzip.decompress(capfdbinary.readouterr().out).decode()
    records = [json.loads(line) for line in text.splitlines()] if form == "ndjson" else json.loads(text)
    assert records == [json.loads(line["record"]) for line in told]
    assert [line["position"] for line in told] == list(range(25))
    assert {line["source"] for line in told} == {"-"}


@pytest.mark.parametrize("seed", range(6))
def test_a_stream_can_be_cut(capfdbinary, tmp_path, seed):
    truth = tmp_path / "truth"
    options = ("--count", "30", "--records-per-file", "10", "--to", "-", "--corrupt", "1", "--truth", str(truth))
    assert smelt(["produce", "events", "--seed", str(seed), "--start", START, *options]) == 0
    *whole, letter = [json.loads(line) for line in truth.read_text().splitlines()]
    text = capfdbinary.readouterr().out.decode()
    assert letter["position"] == len(whole)
    assert letter["reason"] == "truncated_batch"
    assert text.startswith("[" + ",".join(line["record"] for line in whole))
    assert json.loads(f"[{','.join(line['record'] for line in whole)}]") is not None
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


@pytest.mark.parametrize(("text", "rate"), [("5%", 0.05), ("0.05", 0.05), ("100%", 1.0), ("0", 0.0), (" 2.5% ", 0.025)])
def test_a_rate_is_a_share_or_a_percentage(text, rate):
    assert rate_of(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["1.5", "-1", "101%", "x", "", "nan", "%"])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(typer.BadParameter, match="is not a rate"):
        rate_of(text)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["events", "--count", "0"], 2, "--count"),
        (["events", "--count", "-3"], 2, "--count"),
        (["events"], 2, "--count"),
        (["events", "--count", "1", "--late", "1.5"], 2, "is not a rate"),
        (["events", "--count", "1", "--rate", "0"], 2, "records a second"),
        (["events", "--count", "1", "--start", "yesterday"], 2, "is not a time"),
        (["events", "--count", "1", "--format", "xml"], 2, "--format"),
        (["event", "--count", "1"], 3, "did you mean `events`"),
        (["events", "--count", "1", "--to", "/dev/null/x"], 3, "not a directory"),
        (["events", "--count", "1", "--start", "2019-01-01T00:00:00Z"], 1, "event_timestamp"),
    ],
)
def test_bad_input_gives_one_clear_error_and_its_exit_code(tmp_path, capsys, options, code, said):
    assert smelt(["--lake", str(tmp_path), "produce", *options]) == code
    assert said in capsys.readouterr().err
    assert list(tmp_path.rglob("*.json")) == []


def test_ctrl_c_ends_with_a_summary_and_the_truth_of_what_was_written(tmp_path):
    command = [Path(sys.executable).with_name("smelt"), *words("--count", "10000", "--records-per-file", "5")]
    command += ["--rate", "100", "--to", tmp_path / "data", "--truth", tmp_path / "truth"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    deadline = time.monotonic() + 8
    while len(list((tmp_path).glob("data/e*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=8)
    assert process.returncode == 130
    assert "next:  smelt check" in said
    told = [json.loads(line)["source"] for line in (tmp_path / "truth").read_text().splitlines()]
    assert set(told) == {str(path) for path in (tmp_path / "data").iterdir()}
    assert len(told) == 5 * len(set(told))


def test_the_truth_never_costs_anybody_a_file(tmp_path, capsys):
    precious = tmp_path / "precious.txt"
    precious.write_text("do not lose me")
    to = str(tmp_path / "data")
    assert smelt(words("--count", "3", "--to", to, "--truth", str(precious))) == 1
    assert "exists and is no truth file" in capsys.readouterr().err
    assert precious.read_text() == "do not lose me"
    assert not (tmp_path / "data").exists()
    for _ in range(2):  # an earlier truth is replaced
        assert smelt(words("--count", "3", "--to", to, "--truth", str(tmp_path / "truth.ndjson"))) == 0


@pytest.mark.parametrize("place", ["-", "data/truth.ndjson"])
def test_the_truth_is_not_among_the_records(place, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert smelt(words("--count", "3", "--to", "data", "--truth", place)) == 2
    assert "a file of its own" in capsys.readouterr().err


def test_a_folder_of_other_things_does_not_become_a_lake(tmp_path, capsys):
    (tmp_path / "thesis.doc").write_text("x")
    assert smelt(["--lake", str(tmp_path), *words("--count", "3")]) == 1
    assert "is not a lake" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
