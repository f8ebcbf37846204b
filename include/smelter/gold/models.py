"""Models from files: one SQL file, one gold table; read, checked, and refused with everything that is wrong."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from smelter.contracts.faults import Fault, printable
from smelter.contracts.names import name_problem
from smelter.errors import Refused, Unreachable
from smelter.gold.header import Header, header_flaws, read_header
from smelter.gold.shapes import Window
from smelter.gold.statement import Flaw, Statement, keys_of, read_statement


@dataclass(frozen=True)
class Model:
    """One gold table: what its rows are, and the SQL that makes them from silver's."""

    name: str
    about: str
    dataset: str
    window: Window
    grain: tuple[str, ...]
    partition: tuple[str, ...]
    columns: tuple[str, ...]
    sql: str
    spelling: str
    file: str
    keep_rows: str | None = None  # no part of the fingerprint: no row depends on it

    def fingerprint(self, event_time: str | None) -> str:
        """What the table's rows depend on, besides silver; a comment or a space changes nothing."""
        parts = (self.dataset, event_time, self.window, self.grain, self.partition, self.spelling)
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def window_keys(model: Model) -> tuple[str, ...]:
    """The columns that tell one window of the model from another."""
    return keys_of(model.window)


class ModelsInvalid(Refused):
    """Model files that cannot be used, with everything that is wrong with them."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            "\n".join(str(fault) for fault in faults),
            data="nothing was read or changed",
            next_step="mend the file; docs/gold.md tells how a model is written",
        )


def load_models(folder: Path) -> list[Model]:
    """Every model of a folder, by name; raises `ModelsInvalid` with all faults of all files."""
    if not folder.is_dir():
        raise Unreachable(f"there is no folder of models {printable(str(folder))}", next_step="smelt settings")
    models: list[Model] = []
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.sql")):
        model, found = _load(path)
        faults += [Fault(printable(str(path)), flaw.line, printable(flaw.message)) for flaw in found]
        models += [model] if model is not None else []
    if faults:
        raise ModelsInvalid(faults)
    return models


def _load(path: Path) -> tuple[Model | None, list[Flaw]]:
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as problem:
        return None, [Flaw(1, f"the file cannot be read: {(problem.strerror or str(problem)).lower()}")]
    except UnicodeDecodeError as problem:
        return None, [Flaw(content.count(b"\n", 0, problem.start) + 1, f"the file is not UTF-8: {problem.reason}")]
    model, flaws = parse_model(text, path.stem, str(path))
    return model, sorted(flaws, key=lambda flaw: flaw.line)


def parse_model(text: str, name: str, file: str) -> tuple[Model | None, list[Flaw]]:
    """Read a model from its text; everything that is wrong with it, and the model if nothing is."""
    misnamed = name_problem(name)
    flaws = [Flaw(1, f"the file's name is the table's: {misnamed}")] if misnamed else []
    header, found = read_header(text)
    flaws += found
    if header is None:
        return None, flaws
    statement, found = read_statement(text, header.end, header.window)
    flaws += list(dict.fromkeys(found))
    if statement is None:
        return None, flaws
    flaws += header_flaws(header, statement.columns)
    if flaws:
        return None, flaws
    return _model(name, file, header, statement), []


def _model(name: str, file: str, header: Header, statement: Statement) -> Model:
    return Model(
        name=name,
        about=header.about,
        dataset=header.dataset,
        window=header.window,
        grain=header.grain,
        partition=header.partition,
        columns=statement.columns,
        sql=statement.text.sql,
        spelling=statement.text.spelling,
        file=printable(file),
        keep_rows=header.keep_rows,
    )
