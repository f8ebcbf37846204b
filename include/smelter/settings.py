"""Where am I? Every setting, its value and where the value comes from.

`SMELTER_*` variables win over `<lake>/smelter.toml`, which wins over the default. `--lake` wins over `SMELTER_LAKE`.
"""

from __future__ import annotations

import difflib
import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, SecretStr, ValidationError

from smelter.catalog_address import CatalogAddress, parse_address
from smelter.errors import WrongUsage

PROJECT = Path(__file__).resolve().parents[2]
FILE_NAME = "smelter.toml"


def _address(value: Any) -> CatalogAddress | None:
    if value is None or isinstance(value, CatalogAddress):
        return value
    if not isinstance(value, str):
        raise ValueError("it must be a text such as postgresql://USER@HOST:5432/DATABASE")
    return parse_address(value) if value else None


def _web_address(value: SecretStr | None) -> SecretStr | None:
    if value is not None and not value.get_secret_value().startswith(("http://", "https://")):
        raise ValueError("it must begin with http:// or https://")
    return value


class Settings(BaseModel):
    """The settings of one lake, checked and frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    lake: Path = Field(
        default=PROJECT / "warehouse",
        description="The lake: one folder with landing files, tables, catalog and checkpoints.",
    )
    contracts: Path = Field(
        default=PROJECT / "include" / "contracts",
        description="The folder with one contract per dataset.",
    )
    models: Path = Field(
        default=PROJECT / "include" / "models",
        description="The folder with one SQL file per gold table.",
    )
    duckdb: Path = Field(
        default=PROJECT / "duckdb",
        description="The folder with `views/` and `questions/`, SQL files for DuckDB.",
    )
    jars: Path = Field(
        default=PROJECT / ".jars",
        description="The folder with the verified jars that Spark needs.",
    )
    catalog: Annotated[CatalogAddress | None, PlainValidator(_address)] = Field(
        default=None,
        description="A PostgreSQL database for the catalog, as `postgresql://USER@HOST:5432/DATABASE`, instead of the "
        "file in the lake; see docs/catalog.md.",
    )
    max_record_bytes: int = Field(
        default=16 * 1024 * 1024,
        ge=1024,
        description="A longer record becomes one `record_too_large` letter.",
    )
    max_depth: int = Field(
        default=100,
        ge=1,
        le=500,
        description="A record nested deeper becomes one `record_too_large` letter.",
    )
    max_file_bytes: int = Field(
        default=16 * 1024 * 1024 * 1024,
        ge=1024,
        description="A file that is longer, once expanded, is cut here with one `file_too_large` letter.",
    )
    max_expansion: int = Field(
        default=200,
        ge=2,
        description="A compressed file may expand to this many times its size (or to 4 MiB, if that is more).",
    )
    trigger_seconds: float = Field(
        default=2.0,
        ge=0,
        le=86_400,
        description="How often `smelt ingest --follow` looks for new files.",
    )
    max_files_per_batch: int = Field(
        default=1000,
        ge=1,
        description="The most files that one batch takes.",
    )
    max_bytes_per_batch: int = Field(
        default=0,
        ge=0,
        description="The most bytes that one batch takes, instead of a number of files; 0 is no limit.",
    )
    drivers: Literal["here", "served"] = Field(
        default="here",
        description="Where the drivers of streams are started: `here`, by whoever asks, or `served`, by the "
        "`smelt stream serve` that watches this lake, perhaps in another container.",
    )
    webhook: Annotated[SecretStr | None, AfterValidator(_web_address)] = Field(
        default=None,
        description="An http(s) address that is told, as JSON with `text`, when a task of Airflow fails. A secret: it "
        "is never shown or logged.",
    )
    build_minutes: int = Field(
        default=15,
        ge=1,
        le=59,
        description="Silver and gold are built by Airflow when new data is there, and at least this often.",
    )
    build_pause_seconds: float = Field(
        default=120,
        ge=0,
        le=86_400,
        description="The least time between two builds of silver that new data starts; each of them starts a JVM.",
    )
    max_rows_per_slice: int = Field(
        default=2_000_000,
        ge=1,
        description="About how many rows of bronze silver takes with one commit; a larger backlog is taken in slices.",
    )


@dataclass(frozen=True)
class Origin:
    """One setting as `smelt settings` shows it."""

    name: str
    value: str
    origin: str
    about: str


@dataclass(frozen=True)
class LoadedSettings:
    """Settings together with the place that each value came from."""

    values: Settings
    origins: tuple[Origin, ...]


def load_settings(lake: Path | None = None, environ: Mapping[str, str] | None = None) -> LoadedSettings:
    """Read the settings; an unknown name or a wrong value is refused with its place and the nearest spelling."""
    environ = os.environ if environ is None else environ
    given: dict[str, tuple[Any, str]] = {}
    from_environment = {
        name.removeprefix("SMELTER_").lower(): (value, name)
        for name, value in environ.items()
        if name.startswith("SMELTER_") and value  # an empty variable is one that is not set
    }
    if lake is not None:
        from_environment["lake"] = (str(lake), "--lake")
    home = Path(str(from_environment["lake"][0])) if "lake" in from_environment else Settings().lake
    given.update(_from_file(home / FILE_NAME))
    given.update(from_environment)
    _refuse_unknown(given)
    return _checked(given)


def _from_file(path: Path) -> dict[str, tuple[Any, str]]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise WrongUsage(
            f"the settings file cannot be read: {problem}", where=str(path), next_step="mend or remove it"
        ) from problem
    if "lake" in content:
        raise WrongUsage(
            "`lake` cannot be set in the file that lies in the lake",
            where=str(path),
            next_step="use --lake DIR or SMELTER_LAKE",
        )
    _refuse_open_secret(path, content)
    return {name: (value, str(path)) for name, value in content.items()}


def _refuse_open_secret(path: Path, content: Mapping[str, Any]) -> None:
    """A secret lies only in a file that its owner alone can read."""
    try:
        address = _address(content.get("catalog"))
    except ValueError:  # told later, with the rest
        return
    has_password = address is not None and bool(address.password)
    if (has_password or content.get("webhook")) and path.stat().st_mode & 0o077:
        what = "the catalog's password" if has_password else "the webhook's address"
        instead = ", or put the password into ~/.pgpass" if has_password else ""
        raise WrongUsage(
            f"the settings file holds {what}, and others may read it",
            where=str(path),
            next_step=f"chmod 600 {shlex.quote(str(path))}{instead}",
        )


def _refuse_unknown(given: Mapping[str, tuple[Any, str]]) -> None:
    for name, (_, origin) in given.items():
        if name not in Settings.model_fields:
            near = difflib.get_close_matches(name, Settings.model_fields, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise WrongUsage(
                f"there is no setting `{name}`{hint}", where=origin, next_step="smelt settings lists all of them"
            )


def _checked(given: Mapping[str, tuple[Any, str]]) -> LoadedSettings:
    try:
        values = Settings(**{name: value for name, (value, _) in given.items()})
    except ValidationError as problem:
        first = problem.errors()[0]
        name = str(first["loc"][0])
        if name in ("catalog", "webhook"):  # nothing is repeated: where it is wrong, nobody knows where its secret is
            said = first.get("ctx", {}).get("error", "it must be a text")
            raise WrongUsage(f"`{name}` cannot be used: {said}", where=given[name][1]) from None
        raise WrongUsage(
            f"`{name}` cannot be {first['input']!r}: {first['msg'].lower()}", where=given[name][1]
        ) from problem
    absolute = {n: getattr(values, n).expanduser().absolute() for n in ("contracts", "models", "jars")}
    absolute["lake"] = values.lake.expanduser().resolve()  # records are named by their files: a lake has one name
    values = values.model_copy(update=absolute)
    origins = tuple(
        Origin(
            name=name,
            value="" if getattr(values, name) is None else str(getattr(values, name)),
            origin=given[name][1] if name in given else "default",
            about=field.description or "",
        )
        for name, field in Settings.model_fields.items()
    )
    return LoadedSettings(values, origins)
