"""Letters of every reason and status, in files with names that need care."""

from __future__ import annotations

from pathlib import Path

from boxes import COUPON, Box, lines, orders

from smelter.lake.home import Lake
from smelter.settings import Settings

STRANGE = 'it\'s 100% "näive" $x;--.json'
NESTED = '  at: {type: "struct<city: string, tags: array<string>>"}\n'


def mixed_letters(folder: Path, dataset: str = "orders") -> Box:
    """Open (never tried, failed, reopened), replayed, edited and discarded ones, under two contracts."""
    box = Box(Lake.at(Settings(lake=folder)), orders(fields=NESTED, dataset=dataset))
    box.arrive("a.json", {"id": 1}, {"id": 2, "coupon": "x"}, {"id": 3, "gift": 1}, {"id": "4"}, {"note": "no id"})
    box.arrive(
        STRANGE,
        {"id": 11, "coupon": "y"},
        {"id": 12, "at": {"city": 5, "tags": ["a", 7]}},
        {"id": 13, "at": {"town": "x"}},
        '{"id": 14, "id": 15}',
        b'{"id": 16, "note": "\xff"}',
        "5",
        '{"id": nope}',
        {"id": "'; drop table letters; --"},
    )
    box.arrive_bytes("cut.json", lines({"id": 21}, {"id": 22, "coupon": "z"})[:-4])
    box.become(fields=NESTED + COUPON)
    box.replay(source="a.json")
    box.undo(box.replayed(source="100%", field="coupon"))
    box.edit("a.json", 3, {"id": 4}, because="it was a text")
    box.discard("nobody wants it", reason="missing_field")
    box.undo(box.edit(STRANGE, 7, {"id": 17}).run, because="it was another one")
    box.discard("nor this", reason="not_an_object")
    box.check()
    return box
