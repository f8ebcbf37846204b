"""A copy of tables as plain Parquet, with a manifest that says of which snapshot each is.

Nothing is there until all of it is: the folder is made under another name, and renamed when the manifest is in it. So
it is safe to kill, and to repeat under the same or another name; what a killed export leaves is told by its name.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from urllib.parse import quote

import duckdb

from smelter.contracts.faults import printable
from smelter.contracts.misfit import nearest
from smelter.errors import Refused, Unreachable
from smelter.explore.catalog import TableName
from smelter.explore.explorer import Explorer
from smelter.explore.quoting import qualified

MANIFEST = "manifest.json"
_ROWS_AT_ONCE = 100_000
_READ_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Exported:
    """One table's file."""

    table: str
    file: str
    snapshot: int | None  # nothing for a table that has none: it has no rows
    committed_at: str | None
    rows: int
    bytes: int
    sha256: str
    columns: dict[str, str]


def export(explorer: Explorer, folder: Path, wanted: Iterable[str], tell: Callable[[Exported], None]) -> list[Exported]:
    """Write each table; the explorer was opened `at` a moment, so that all of them are of that."""
    if folder.exists():
        raise Refused(
            "this folder is there already, and an export makes a new one",
            where=str(folder),
            data="nothing was written",
            next_step="name another folder, or remove this one",
        )
    tables = _tables(explorer, list(wanted))
    part = folder.with_name(f".{folder.name}.{token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        done = []
        for table in tables:
            done.append(_export_table(explorer, table, part))
            tell(done[-1])
        _write_manifest(part / MANIFEST, done)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return done


def _tables(explorer: Explorer, wanted: list[str]) -> list[TableName]:
    known = {str(table): table for table in explorer.tables}
    for table, sentence in explorer.unopened.items():
        if not wanted or str(table) in wanted:
            raise Unreachable(
                sentence, data="nothing was written", next_step="name the tables that you want: --table bronze.events"
            )
    for name in wanted:
        if name not in known:
            raise Refused(
                f"there is no table {printable(name)}{nearest(name, known)}",
                data="nothing was written",
                next_step='smelt sql "show tables"',
            )
    if not known:
        raise Refused("the lake has no tables yet", data="nothing was written", next_step="smelt status")
    return [known[name] for name in wanted] or sorted(known.values())


def _export_table(explorer: Explorer, table: TableName, folder: Path) -> Exported:
    """The table's own rows: of dead letters, the letters as they came."""
    import pyarrow.parquet as pq

    snapshot, committed_at = _snapshot(explorer, table)
    file = folder / quote(table.namespace, safe="") / f"{quote(table.name, safe='')}.parquet"
    file.parent.mkdir(exist_ok=True)
    answer = explorer.execute(f"from lake.{qualified(table)}")
    schema, batches = answer.typed_batches(_ROWS_AT_ONCE)
    rows = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    columns = dict(zip(answer.columns, answer.types, strict=True))
    name = str(file.relative_to(folder))
    return Exported(str(table), name, snapshot, committed_at, rows, file.stat().st_size, _digest_on_disk(file), columns)


def _snapshot(explorer: Explorer, table: TableName) -> tuple[int | None, str | None]:
    metadata = explorer.catalog.metadata(table)
    if metadata is None:
        raise Unreachable(f"the table {table} is gone", next_step="run it again")
    facts = json.loads(metadata.content)
    for one in facts.get("snapshots", []):
        if one["snapshot-id"] == facts.get("current-snapshot-id"):
            return one["snapshot-id"], datetime.fromtimestamp(one["timestamp-ms"] / 1000, UTC).isoformat()
    return None, None


def _digest_on_disk(file: Path) -> str:
    """What is in the file; and from now on it survives a crash of the machine."""
    digest = hashlib.sha256()
    with file.open("rb+") as opened:
        while part := opened.read(_READ_AT_ONCE):
            digest.update(part)
        os.fsync(opened.fileno())
    return digest.hexdigest()


def _write_manifest(file: Path, done: list[Exported]) -> None:
    content = {
        "exported_at": datetime.now(UTC).isoformat(),
        "duckdb": duckdb.__version__,
        "tables": [asdict(one) for one in done],
    }
    with file.open("w", encoding="utf-8") as opened:
        json.dump(content, opened, indent=2, ensure_ascii=False)
        opened.flush()
        os.fsync(opened.fileno())
