"""`smelt contract`: exit codes, one clear sentence, and the same facts for people and programs."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from contract_texts import MINIMAL, SHIPPED, with_field, with_fields

from smelter.cli.main import run
from smelter.contracts import load_contract

RECORDS = [{"id": f"o-{number}", "total": number + 0.5, "at": "2026-11-16T10:00:00Z"} for number in range(20)]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Smelt = Callable[..., Done]


@pytest.fixture
def smelt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smelt:
    """Runs a command in a scratch folder whose contracts are in `contracts/`."""
    (tmp_path / "contracts").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("SMELTER_CONTRACTS", str(tmp_path / "contracts"))

    def call(*words: str) -> Done:
        code = run(list(words))
        done = capsys.readouterr()
        assert "Traceback" not in done.err
        assert "in a way it should not" not in done.err
        return Done(code, done.out, done.err)

    return call


def write(name: str, text: str) -> str:
    Path(name).write_text(text, "utf-8")
    return name


def test_check_looks_at_all_contracts_of_the_folder(smelt: Smelt) -> None:
    write("contracts/things.yaml", MINIMAL)
    done = smelt("contract", "check")
    assert (done.code, done.out) == (0, f"ok      things@1, 1 fields  {Path('contracts').absolute()}/things.yaml\n")


def test_check_names_file_line_value_and_nearest_spelling(smelt: Smelt) -> None:
    write("things.yaml", with_field("type: strng, requird: true"))
    done = smelt("contract", "check", "things.yaml")
    assert done.code == 1
    first, second = done.out.splitlines()
    assert first.startswith("failed  things.yaml:5: fields.a.type: `strng` is not a type; did you mean `string`?")
    assert second.startswith("failed  things.yaml:5: there is no key `requird` in `fields.a`; did you mean `required`?")


def test_check_for_programs_has_the_same_facts(smelt: Smelt) -> None:
    write("things.yaml", with_fields("a: {type: int}", "b: {type: strng}"))
    done = smelt("contract", "check", "--json", str(SHIPPED / "events.yaml"), "things.yaml")
    good, bad = json.loads(done.out)
    assert done.code == 1
    assert good == {
        "file": str(SHIPPED / "events.yaml"),
        "ok": True,
        "contract": "events@1",
        "fields": 6,
        "faults": [],
    }
    assert (bad["file"], bad["ok"], bad["contract"]) == ("things.yaml", False, None)
    assert [fault["line"] for fault in bad["faults"]] == [6]
    assert bad["faults"][0]["message"] in smelt("contract", "check", "things.yaml").out


def test_check_looks_at_the_other_files_when_one_is_missing(smelt: Smelt) -> None:
    done = smelt("contract", "check", "nope.yaml", str(SHIPPED / "events.yaml"))
    assert done.code == 3
    assert "ok      events@1" in done.out
    assert "there is no contract nope.yaml" in done.err


@pytest.mark.parametrize("name", [b"\xff.yaml", b"\x1b[2J.yaml", b"a\nb.yaml"])
def test_check_prints_a_hostile_name_without_harm(smelt: Smelt, name: bytes) -> None:
    Path(os.fsdecode(b"contracts/" + name)).write_text(MINIMAL, "utf-8")
    for flags in ([], ["--json"]):
        done = smelt("contract", "check", *flags)
        assert done.code == 1
        assert all(line.isprintable() for line in done.out.splitlines())


def test_check_without_any_contract_says_how_to_make_one(smelt: Smelt) -> None:
    done = smelt("contract", "check")
    assert (done.code, done.out) == (3, "")
    assert "next: smelt contract new DATASET --from SAMPLE" in done.err


def test_diff_says_what_is_safe_and_exits_0(smelt: Smelt) -> None:
    write("old.yaml", MINIMAL)
    write("new.yaml", with_fields("a: {type: string}", "b: {type: int}", version=2))
    done = smelt("contract", "diff", "old.yaml", "new.yaml")
    assert done.code == 0
    assert "safe" in done.out
    assert "added, int" in done.out
    assert smelt("contract", "diff", "old.yaml", "old.yaml") == Done(0, "nothing changed\n", "")


def test_diff_refuses_with_reason_and_way_out_for_people_and_programs(smelt: Smelt) -> None:
    write("old.yaml", MINIMAL)
    write("new.yaml", with_fields("a: {type: int}", version=2))
    people = smelt("contract", "diff", "old.yaml", "new.yaml")
    programs = smelt("contract", "diff", "--json", "old.yaml", "new.yaml")
    assert (people.code, programs.code) == (1, 1)
    assert json.loads(programs.out) == [
        {
            "where": "fields.a",
            "what": "type string → int",
            "is_safe": False,
            "why": "stored values of string are not values of int",
            "way_out": "add a new optional field beside it and fill both until nobody needs the old one",
        }
    ]
    for word in ("refused", "fields.a", "stored values", "add a new"):
        assert word in people.out
    assert json.loads(smelt("contract", "diff", "--json", "old.yaml", "old.yaml").out) == []


def test_diff_of_something_that_is_no_contract_is_one_sentence(smelt: Smelt) -> None:
    write("old.yaml", MINIMAL)
    write("bad.yaml", "dataset: [\n")
    Path("latin.yaml").write_bytes(b"about: \xe9\n")
    assert smelt("contract", "diff", "old.yaml", "nope.yaml").code == 3
    assert smelt("contract", "diff", "old.yaml", "contracts").code == 3
    assert smelt("contract", "diff", "old.yaml", "bad.yaml").err.startswith("bad.yaml:2: ")
    assert smelt("contract", "diff", "old.yaml", "latin.yaml").err.startswith("latin.yaml:1: the file is not UTF-8")
    assert smelt("contract", "diff", "old.yaml").code == 2


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
