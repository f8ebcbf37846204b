"""`smelt contract new`: a draft from any file of records, and one sentence where there can be none."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from commands import Smelt, write

from smelter.contracts import load_contract

RECORDS = [{"id": f"o-{number}", "total": number + 0.5, "at": "2026-11-16T10:00:00Z"} for number in range(20)]


def as_array(indent: int | None = None) -> bytes:
    return json.dumps(RECORDS, indent=indent).encode()


def as_lines() -> bytes:
    return "\n".join(map(json.dumps, RECORDS)).encode()


@pytest.mark.parametrize(
    "content",
    [
        as_array(),
        as_array(indent=2),
        as_lines(),
        b"\xef\xbb\xbf" + as_lines(),
        gzip.compress(as_array()),
        as_lines() + b"\n{",
    ],
    ids=["array", "pretty", "ndjson", "bom", "gz", "cut"],
)
def test_new_drafts_the_same_contract_from_any_shape_of_file(smelt: Smelt, content: bytes) -> None:
    Path("sample").write_bytes(content)
    done = smelt("contract", "new", "orders", "--from", "sample")
    assert done.code == 0
    orders = load_contract(Path("contracts/orders.yaml"))
    assert {name: field.type for name, field in orders.fields.items()} == {
        "id": "string",
        "total": "double",
        "at": "timestamp",
    }
    assert "from 20 records" in done.out


def test_a_new_contract_takes_its_sample_and_its_next_commands_work(smelt: Smelt) -> None:
    Path("sample.json").write_bytes(as_lines())
    done = smelt("contract", "new", "orders", "--from", "sample.json")
    path = Path("contracts/orders.yaml").absolute()
    marked = path.read_text("utf-8").count("# ?") - 1
    assert done.out.splitlines() == [
        f"drafted {path} from 20 records; {marked} lines are marked `# ?`",
        f"next: look at them, then: smelt contract check {path}",
        "      smelt check sample.json --dataset orders",
    ]
    assert smelt("contract", "check", str(path)).code == 0
    assert smelt("check", "sample.json", "--dataset", "orders").code == 0


def test_new_can_print_the_draft_or_write_it_elsewhere(smelt: Smelt) -> None:
    Path("sample.json").write_bytes(as_lines())
    printed = smelt("contract", "new", "orders", "--from", "sample.json", "-o", "-")
    elsewhere = smelt("contract", "new", "orders", "--from", "sample.json", "-o", "my draft.yaml")
    assert (printed.code, elsewhere.code) == (0, 0)
    assert Path("my draft.yaml").read_text("utf-8") == printed.out
    assert "smelt contract check 'my draft.yaml'" in elsewhere.out
    assert "smelt check" not in elsewhere.out
    assert list(Path("contracts").iterdir()) == []


def test_an_editor_finds_the_schema_of_a_draft_outside_the_project(smelt: Smelt) -> None:
    Path("sample.json").write_bytes(as_lines())
    smelt("contract", "new", "orders", "--from", "sample.json")
    pointer = Path("contracts/orders.yaml").read_text("utf-8").splitlines()[0].partition("$schema=")[2]
    assert Path(pointer).is_absolute()
    assert Path(pointer).is_file()


def test_an_existing_file_is_never_overwritten(smelt: Smelt) -> None:
    Path("sample.json").write_bytes(as_lines())
    write("contracts/orders.yaml", "mine")
    Path("link.yaml").symlink_to("nowhere")
    for target in ([], ["-o", "contracts/orders.yaml"], ["-o", "contracts"], ["-o", "link.yaml"]):
        done = smelt("contract", "new", "orders", "--from", "sample.json", *target)
        assert done.code == 1
        assert "exists already" in done.err
        assert "data: nothing was written" in done.err
    assert Path("contracts/orders.yaml").read_text("utf-8") == "mine"
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the sample holds no JSON object with a field"),
        (b"[]", "the sample holds no JSON object with a field"),
        (b"{}\n{}", "the sample holds no JSON object with a field"),
        (b'1\n"x"\n[2]', "the sample holds no JSON object with a field"),
        (b"id,total\n1,2\n", "the sample holds no JSON object with a field"),
        (os.urandom(500), "the sample holds no JSON object with a field"),
        (b"\x1f\x8b garbage", "the sample holds no JSON object with a field"),
        (b'{"\\ud800": 1}', "the sample holds no JSON object with a field"),
        (b'{"": 1}', "the sample has no field that a contract can name"),
    ],
)
def test_a_sample_without_records_is_refused_in_one_sentence(smelt: Smelt, content: bytes, said: str) -> None:
    Path("sample").write_bytes(content)
    done = smelt("contract", "new", "orders", "--from", "sample")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(said)
    assert "data: nothing was written" in done.err
    assert list(Path("contracts").iterdir()) == []


def test_a_missing_sample_or_folder_is_unreachable(smelt: Smelt, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sample.json").write_bytes(as_lines())
    assert smelt("contract", "new", "orders", "--from", "nope").err.startswith("there is no file nope")
    assert smelt("contract", "new", "orders", "--from", "nope").code == 3
    assert smelt("contract", "new", "orders", "--from", "contracts").err.startswith("contracts is a folder")
    monkeypatch.setenv("SMELTER_CONTRACTS", "/nope/here")
    done = smelt("contract", "new", "orders", "--from", "sample.json")
    assert done.code == 3
    assert "next: mkdir -p /nope/here" in done.err


@pytest.mark.parametrize("dataset", ["select", "resolutions", "_x", "Orders", "../x", "a" * 64, "é"])
def test_a_dataset_with_a_bad_name_is_wrong_usage(smelt: Smelt, dataset: str) -> None:
    Path("sample.json").write_bytes(as_lines())
    done = smelt("contract", "new", dataset, "--from", "sample.json")
    assert done.code == 2
    assert done.err.startswith(f"`{dataset}`")
    assert "from:" not in done.err


def test_new_without_a_sample_is_wrong_usage(smelt: Smelt) -> None:
    assert smelt("contract", "new", "orders").code == 2
    assert smelt("contract", "new", "--from", "x").code == 2
