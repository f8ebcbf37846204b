"""Contract files: where they are, what they are called, and what can be wrong with them before a word is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_texts import MINIMAL

from smelter.contracts import ContractInvalid, dataset_names, find_contract, load_contract, read_contract
from smelter.errors import Unreachable


@pytest.fixture
def things(tmp_path: Path) -> Path:
    path = tmp_path / "things.yaml"
    path.write_text(MINIMAL, "utf-8")
    return path


def test_a_byte_order_mark_and_windows_lines_are_no_matter(things: Path) -> None:
    plain = load_contract(things)
    things.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    assert load_contract(things) == plain


def test_a_file_that_is_not_utf_8_is_refused_with_the_line_of_the_first_wrong_byte(things: Path) -> None:
    things.write_bytes(MINIMAL.encode() + b"about: caf\xe9\n")
    with pytest.raises(ContractInvalid, match=r"things\.yaml:6: the file is not UTF-8"):
        load_contract(things)


def test_a_file_must_be_called_like_its_dataset(things: Path) -> None:
    other = things.rename(things.with_name("stuff.yaml"))
    other.write_text("# a comment\n" + MINIMAL, "utf-8")
    with pytest.raises(ContractInvalid) as refused:
        load_contract(other)
    (fault,) = refused.value.faults
    assert (fault.line, fault.message) == (2, "dataset: the file is called stuff.yaml, and must be called things.yaml")
    assert read_contract(other).dataset == "things"


def test_a_file_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"there is no contract .*nope\.yaml"):
        load_contract(tmp_path / "nope.yaml")


def test_a_folder_in_place_of_a_file_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "things.yaml").mkdir()
    with pytest.raises(Unreachable, match="cannot be read: is a directory"):
        load_contract(tmp_path / "things.yaml")


def test_a_path_that_no_system_takes_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        load_contract(Path("a\0b.yaml"))
    with pytest.raises(Unreachable):
        load_contract(Path("a" * 5000))


def test_only_visible_yaml_files_are_datasets(things: Path) -> None:
    folder = things.parent
    (folder / ".hidden.yaml").touch()
    (folder / "a_folder.yaml").mkdir()
    (folder / "notes.txt").touch()
    (folder / "also.yaml").touch()
    assert dataset_names(folder) == ["also", "things"]
    assert dataset_names(folder / "nope") == []


def test_a_contract_is_found_by_its_dataset(things: Path) -> None:
    assert find_contract(things.parent, "things").label == "things@1"


@pytest.mark.parametrize("dataset", ["thing", "../things", "", "things.yaml", "THINGS"])
def test_a_dataset_without_a_contract_is_told_which_there_are(things: Path, dataset: str) -> None:
    with pytest.raises(Unreachable) as problem:
        find_contract(things.parent, dataset)
    assert problem.value.where == f"{things.parent} has things"
    assert ("did you mean `things`?" in problem.value.what) == (dataset != "")


def test_a_contract_with_the_short_ending_is_told_to_be_renamed(things: Path) -> None:
    things.rename(things.with_suffix(".yml"))
    with pytest.raises(Unreachable) as problem:
        find_contract(things.parent, "things")
    assert problem.value.next_step == f"mv {things.with_suffix('.yml')} {things}"


@pytest.mark.parametrize("name", [b"a b.yaml", b"\x1b[31m.yaml", b"new\nline.yaml", b"\xff\xfe.yaml", b"'$(id)'.yaml"])
def test_a_hostile_file_name_is_only_ever_printed(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.write_text(MINIMAL, "utf-8")
    with pytest.raises(ContractInvalid) as refused:
        load_contract(path)
    (fault,) = refused.value.faults
    assert str(fault).isprintable()
    assert "must be called things.yaml" in fault.message
