"""One run: plan in, files and truth out."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from smelter.contracts import Contract
from smelter.producer import layout
from smelter.producer.files import packed, packer, path_of, publish
from smelter.producer.layout import LAYOUTS, Page
from smelter.producer.pace import Pace, undisturbed
from smelter.producer.plan import Format, Plan, Produced
from smelter.producer.recipes import recipe_of
from smelter.producer.sabotage import Made, Saboteur
from smelter.producer.truth import TruthFile
from smelter.producer.values import Draw

_EMPTY = (b"", b"[]", b"\n\n  \n")
_STREAM = "-"


def produce(contract: Contract, plan: Plan, watch: Callable[[int], None] | None = None) -> Produced:
    """Write the records that the plan asks for; Ctrl-C ends it early, with the truth of what was written.

    `watch` is told how many records there are after each file. A second run of the same plan changes nothing.
    """
    with TruthFile(plan.truth) as truth:
        run = _Run(contract, plan, truth, watch)
        try:
            run.write_stream(sys.stdout.buffer) if plan.to is None else run.write_files()
        except KeyboardInterrupt:
            return run.produced(interrupted=True)
        return run.produced()


class _Run:
    """The state of one run: its random numbers, its pace, and what was written so far."""

    def __init__(self, contract: Contract, plan: Plan, truth: TruthFile, watch: Callable[[int], None] | None) -> None:
        self._dataset, self._plan, self._truth, self._watch = contract.dataset, plan, truth, watch
        self._rng = random.Random(f"{plan.seed}:{plan.start_text}:{contract.dataset}")
        draw = Draw(self._rng)
        recipe = recipe_of(contract, draw, f"{plan.seed}:{plan.start_text}")
        self._saboteur = Saboteur(contract, recipe, plan.faults, draw)
        self._layout = LAYOUTS[plan.format]
        self._pace = Pace(plan.rate, self._tell)
        self._files: list[Path] = []
        self._tally: Counter[str] = Counter()

    def produced(self, *, interrupted: bool = False) -> Produced:
        """What was written so far."""
        dead = {reason: count for reason, count in sorted(self._tally.items()) if reason != "good"}
        return Produced(tuple(self._files), self._tally.total(), self._tally["good"], dead, interrupted)

    def write_files(self) -> None:
        """Each file in its turn, with the empty ones and the copies that the faults ask for."""
        for number in range(self._plan.files):
            made = self._make(number)
            page = self._cut(made) if self._happens(self._plan.faults.corrupt) else None
            page = page or layout.whole_page(made, self._layout)
            self._pace.wait_for(self._plan.slots(number).stop)
            self._write_file(number, page)
            if self._happens(self._plan.faults.empty_file):
                self._write_file(number, Page(self._rng.choice(_EMPTY), ()), "-empty")
            if self._happens(self._plan.faults.duplicate_file):
                self._write_file(number, page, "-copy")
            self._tell()

    def write_stream(self, stream: BinaryIO) -> None:
        """One document, stretch by stretch, so that its size does not matter; Ctrl-C closes it, a cut does not."""
        cut_in = self._rng.randrange(self._plan.files) if self._happens(self._plan.faults.corrupt) else None
        is_open = False
        with _packing(stream, self._plan.gzip) as write:
            try:
                for number in range(self._plan.files):
                    page, is_cut = self._stretch(number, is_cut=number == cut_in)
                    self._pace.wait_for(self._plan.slots(number).stop)
                    with undisturbed():
                        write(page.content)
                        self._record(_STREAM, page, self._plan.slots(number).start)
                        is_open = not is_cut
                    if is_cut:
                        return
                    self._tell()
            finally:
                if is_open:
                    write(self._layout.closing.encode())

    def _stretch(self, number: int, *, is_cut: bool) -> tuple[Page, bool]:
        """The next records of a stream, cut if that is asked and possible."""
        made = self._make(number)
        page = self._cut(made, is_first=number == 0) if is_cut else None
        whole = layout.whole_page(made, self._layout, is_first=number == 0, is_last=False)
        return page or whole, page is not None

    def _make(self, number: int) -> list[Made]:
        slots, arrival_us = self._plan.slots(number), self._plan.arrival_us(number)
        made = self._saboteur.make_file(slots, self._plan.moment_us, arrival_us)
        return layout.indented(made) if self._plan.format is Format.PRETTY else made

    def _cut(self, made: list[Made], *, is_first: bool = True) -> Page | None:
        return layout.cut_page(made, self._layout, self._rng, is_first=is_first)

    def _happens(self, rate: float) -> bool:
        return rate > 0 and self._rng.random() < rate

    def _write_file(self, number: int, page: Page, mark: str = "") -> None:
        path = path_of(self._dataset, self._plan, number, mark)
        content = packed(page.content) if self._plan.gzip else page.content
        with undisturbed():
            publish(path, content, self._plan.arrival_us(number))
            self._files.append(path)
            self._record(str(path), page)

    def _tell(self) -> None:
        if self._watch is not None:
            self._watch(self._tally.total())

    def _record(self, source: str, page: Page, first_position: int = 0) -> None:
        self._truth.add(source, page.made, first_position)
        self._tally.update("good" if one.reason is None else str(one.reason) for one in page.made)


@contextmanager
def _packing(stream: BinaryIO, is_packed: bool) -> Iterator[Callable[[bytes], object]]:
    """Writes to the stream, as gzip if asked; the end of a gzip is written also after Ctrl-C."""
    gzip = packer() if is_packed else None

    def write(content: bytes) -> None:
        stream.write(gzip.compress(content) if gzip is not None else content)
        stream.flush()

    try:
        yield write
    finally:
        if gzip is not None:
            stream.write(gzip.flush())
            stream.flush()
