"""The ledger's own reader keeps the rules of docs/records.md."""

from __future__ import annotations

import ast
import hashlib
import io
from pathlib import Path

import pytest
from readings import PACKERS, PAGE, cut, recounted

from smelter.ledger.expansion import StoredFile, TextCutShort
from smelter.ledger.recount import CountLimits, Recount, record_at, recount

PACKAGE = Path(__file__).parents[2] / "include"
TEN = b'{"a":1}\n' * 10


def examples_of_the_page() -> list[tuple[bytes, list[bytes]]]:
    """Rows of the page's tables with a text in the first column: the text, and its records with the rest."""
    rows = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `") and ("⏎" in cells[0] or cells[0][1] in "{["):
            records = [] if cells[1] == "none" else cells[1].split(" · ")
            rest = [cell for cell in cells[2:] if not cell.startswith("none")]
            rows.append((_bytes(cells[0]), [_bytes(cell) for cell in records + rest]))
    return rows


def _bytes(shown: str) -> bytes:
    shown = "" if shown.startswith("nothing") else shown
    return shown.removeprefix("✗").strip("`").replace("⏎", "\n").encode()


@pytest.mark.parametrize(("text", "records"), examples_of_the_page())
def test_every_example_of_the_page_is_cut_as_it_says(tmp_path: Path, text: bytes, records: list[bytes]) -> None:
    assert cut(text) == records
    assert recounted(tmp_path, text) == Recount(len(records), len(text), hashlib.sha256(text).hexdigest())


def test_the_page_has_its_examples() -> None:
    assert len(examples_of_the_page()) >= 25


def test_the_limits_are_those_of_the_settings() -> None:
    page = (PAGE.parent / "settings.md").read_text("utf-8")
    for name, value in vars(CountLimits()).items():
        assert f"| `{name}` | `SMELTER_{name.upper()}` | `{value}` |" in page


def test_the_reader_shares_no_code_with_the_judge() -> None:
    waiting, seen = ["smelter.ledger.recount"], set[str]()
    while waiting:
        module = waiting.pop()
        seen.add(module)
        if module.startswith("smelter."):
            tree = ast.parse((PACKAGE / module.replace(".", "/")).with_suffix(".py").read_text("utf-8"))
            imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
            froms = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
            names = froms + [alias.name for node in imports for alias in node.names]
            waiting += [name for name in names if name not in seen]
    ours = {module for module in seen if module.startswith("smelter")}
    assert all(module.startswith("smelter.ledger.") for module in ours), ours
    assert not {module.partition(".")[0] for module in seen} & {"msgspec", "pyarrow", "numpy"}


def test_each_record_is_found_by_its_position_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(b'{"a":1}\n[{"a":2}, 3,]\nrubbish\n{"a":')
    found = [record_at(path, position, CountLimits()) for position in range(-1, 7)]
    assert found == [None, b'{"a":1}', b'{"a":2}', b"3", b"", b"rubbish", b'{"a":', None]


@pytest.mark.parametrize("text", [b'{"a":"%s"}', b"[%s", b"%s", b'[{"a":%s},1]', b'1\n{"a":"%s'])
def test_of_a_long_record_the_first_64_kib_are_shown(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "source"
    content = text % (b"x" * 100_000)
    path.write_bytes(content)
    record = content.lstrip(b"1\n[")[: 64 * 1024]
    assert record in [record_at(path, position, CountLimits()) for position in range(2)]


def test_a_file_that_cannot_be_opened_is_the_callers_problem(tmp_path: Path) -> None:
    for path, problem in ((tmp_path / "gone", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(problem):
            recount(path, CountLimits())
        with pytest.raises(problem):
            record_at(path, 0, CountLimits())


@pytest.mark.parametrize("packer", ["gz", "zst"])
def test_packed_parts_may_follow_one_another(tmp_path: Path, packer: str) -> None:
    pack = PACKERS[packer]
    packed = pack(TEN) + pack(b"") + pack(b'{"a":') + pack(b"2}\n" + TEN)
    assert recounted(tmp_path, packed) == Recount(21, len(packed), hashlib.sha256(packed).hexdigest())


def test_zero_bytes_after_gzip_are_padding_and_anything_else_is_one_letter(tmp_path: Path) -> None:
    packed = PACKERS["gz"](TEN)
    assert recounted(tmp_path, packed + b"\x00" * 600).records == 10
    assert recounted(tmp_path, packed + b"\x00rubbish").records == 11
    assert recounted(tmp_path, packed[:-1]).records == 11


def test_a_wrong_checksum_costs_one_letter_and_no_record(tmp_path: Path) -> None:
    packed = bytearray(PACKERS["gz"](TEN))
    packed[-5] ^= 1
    assert recounted(tmp_path, bytes(packed)).records == 11


def test_a_zstd_file_that_begins_with_a_skippable_frame_is_not_known_as_one(tmp_path: Path) -> None:
    assert recounted(tmp_path, b"\x50\x2a\x4d\x18\x01\x00\x00\x00x" + PACKERS["zst"](TEN)).records != 10


def test_the_text_ends_at_the_cap_with_one_letter(tmp_path: Path) -> None:
    limits = CountLimits(max_file_bytes=len(TEN) - 4)
    for pack in PACKERS.values():
        assert recounted(tmp_path, pack(TEN), limits).records == 10
        assert recounted(tmp_path, pack(TEN), CountLimits(max_file_bytes=len(TEN))).records == 10
    assert record_at(tmp_path / "source", 9, limits) == b'{"a"'


@pytest.mark.parametrize("packer", ["gz", "zst"])
def test_a_packed_text_has_a_cap_of_its_own(tmp_path: Path, packer: str) -> None:
    text = b'{"a":1}\n' * 600_000
    packed = PACKERS[packer](text)
    assert len(packed) * 40 < 4 * 1024 * 1024
    assert recounted(tmp_path, packed, CountLimits(max_expansion=40)).records == 4 * 1024 * 1024 // 8 + 1
    assert recounted(tmp_path, packed, CountLimits(max_expansion=100_000)).records == 600_000


def test_bytes_that_cannot_be_read_end_the_text_and_what_came_before_counts() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 0:
                raise OSError(5, "Input/output error")
            return super().read(25)

    stored = StoredFile(Failing(TEN))
    pieces = iter(stored)
    assert next(pieces) == TEN[:25]
    with pytest.raises(TextCutShort):
        next(pieces)
    assert (stored.bytes_read, stored.digest) == (25, hashlib.sha256(TEN[:25]).hexdigest())
