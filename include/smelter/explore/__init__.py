"""What can I ask? DuckDB over the live catalog: every table by its name, at its newest snapshot, to read only."""

from smelter.explore.answer import Answer
from smelter.explore.catalog import TableName
from smelter.explore.explorer import Explorer, connect, open_explorer

__all__ = ["Answer", "Explorer", "TableName", "connect", "open_explorer"]
