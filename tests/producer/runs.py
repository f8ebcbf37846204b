"""A contract with everything in it, and runs of the producer read back as plain lists."""

from __future__ import annotations

import datetime
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smelter.producer import Produced

CONTRACTS = Path(__file__).resolve().parents[2] / "include" / "contracts"

EVERYTHING = """
dataset: everything
version: 1
fields:
  id:          {type: long, required: true}
  word:        {type: string, required: true, min_length: 3, max_length: 9}
  code:        {type: string, required: true, from: Code, pattern: "[A-Z]{2,3}-(\\\\d{4}|x[^a-y]?)\\\\w*(?:é|.)$"}
  wide_code:   {type: string, pattern: "[a-z]+", min_length: 6, max_length: 12}
  colour:      {type: string, required: true, one_of: [red, green, "bl\\"ue"]}
  flag:        {type: boolean}
  always:      {type: boolean, one_of: [true]}
  small:       {type: int, min: -5, max: 5, required: true}
  huge:        {type: long, min: 9223372036854775800}
  step:        {type: int, one_of: [1, 2, 3]}
  ratio:       {type: float, min: 0.7, max: 0.71}
  weight:      {type: double, max: -1}
  price:       {type: "decimal(10,2)", required: true, min: 0.01, max: 99.99}
  exact:       {type: "decimal(38,38)"}
  whole:       {type: "decimal(5,0)", one_of: [10, 20]}
  level:       {type: "decimal(4,2)", one_of: [0.5, 12.25]}
  born:        {type: date, max: 2001-12-31, from: date of birth}
  printed:     {type: date, format: "%d/%m/%Y", not_after_arrival: 1d}
  local:       {type: timestamp, zone: Europe/Berlin}
  hourly:      {type: timestamp, zone: Australia/Lord_Howe, format: "%Y%m%d %H", required: true}
  fine:        {type: timestamp, zone: America/New_York, format: "%Y-%m-%d %H:%M:%S.%f", min: 2024-01-01T00:00:00Z}
  seen_at:     {type: timestamp, required: true, not_after_arrival: 15m, min: 2020-01-01T00:00:00+02:00}
  blob:        {type: binary, min_length: 2, max_length: 5}
  tags:        {type: "array<string>", min_length: 1, max_length: 3}
  labels:      {type: "map<string,string>", max_length: 2}
  nested:      {type: "map<string,array<struct<a: int not null, b: decimal(6,3), c: map<string,timestamp>>>>"}
  place:       {type: "struct<lat: double not null, lon: float not null, at: date, raw: binary>"}
source: {files: landing/everything}
silver: {key: [id], event_time: seen_at}
"""


@dataclass(frozen=True)
class Run:
    """What one run wrote, and its truth."""

    produced: Produced
    truth: list[dict[str, Any]]

    @property
    def contents(self) -> dict[str, bytes]:
        return {str(path): content_of(path) for path in self.produced.files}

    def said_of(self, fault: str | None) -> list[dict[str, Any]]:
        return [line for line in self.truth if line["fault"] == fault]


def content_of(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def arrival_of(source: str) -> datetime.datetime:
    nanoseconds = Path(source).stat().st_mtime_ns
    assert nanoseconds % 1000 == 0
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=nanoseconds // 1000)
