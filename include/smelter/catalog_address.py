"""Where is the catalog, if it is a PostgreSQL database? The password is shown nowhere."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

_CONNECT_SECONDS = 10
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_OPTIONS = ("sslmode", "sslrootcert")  # the words that both drivers, libpq and pgjdbc, spell the same way
_SHAPE = "it must look like postgresql://USER@HOST:5432/DATABASE"


@dataclass(frozen=True)
class CatalogAddress:
    """Where the database is and who asks; `str` leaves the password out."""

    host: str
    port: int
    database: str
    user: str
    password: str | None = field(default=None, repr=False)
    sslmode: str | None = None
    sslrootcert: str | None = None

    def __str__(self) -> str:
        secret = ":***" if self.password else ""
        place = f"{_quoted(self.user)}{secret}@{self.host}:{self.port}/{_quoted(self.database)}"
        return f"postgresql://{place}{_query(self._options())}"

    def libpq(self) -> dict[str, Any]:
        """What psycopg2 is told; without a password it looks into PGPASSWORD, PGPASSFILE and ~/.pgpass itself."""
        told = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            **self.habits(),
        }
        return told if self.password is None else {**told, "password": self.password}

    def habits(self) -> dict[str, str]:
        """How every line of ours behaves: it gives up on a database that is silent, and speaks UTF-8."""
        return {
            **self._options(),
            "connect_timeout": str(_CONNECT_SECONDS),
            "keepalives_idle": "30",
            "keepalives_interval": "10",
            "keepalives_count": "3",
            "tcp_user_timeout": "60000",
            "client_encoding": "utf8",
            "application_name": "smelter",
        }

    def jdbc(self, environ: Mapping[str, str] = os.environ) -> str:
        """The address for Spark's driver, without user and password: it may be seen on a command line."""
        mode = {"sslmode": environ["PGSSLMODE"]} if environ.get("PGSSLMODE") else {}
        habits = {"connectTimeout": str(_CONNECT_SECONDS), "tcpKeepAlive": "true", "ApplicationName": "smelter"}
        place = f"{self.host}:{self.port}/{_quoted(self.database)}"
        return f"jdbc:postgresql://{place}{_query({**mode, **self._options(), **habits})}"

    def jdbc_secrets(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """User and password for Spark's driver, which reads PGPASSFILE and ~/.pgpass itself, but not PGPASSWORD."""
        password = self.password or environ.get("PGPASSWORD")
        return {"user": self.user, **({"password": password} if password else {})}

    def _options(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in _OPTIONS if getattr(self, name)}


def parse_address(text: str) -> CatalogAddress:
    """Read an address; what is wrong with it is told by a ValueError that does not repeat it."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"this is no address with a host and a port: {_SHAPE}") from None
    if parts.scheme not in ("postgresql", "postgres") or not text.partition(":")[2].startswith("//"):
        raise ValueError(f"only an address that begins with postgresql:// names a catalog: {_SHAPE}")
    if parts.fragment or re.search(r"\s|#", text):
        raise ValueError("it holds a blank or a #: write characters of a name or password as %20, %23 and so on")
    user, password = _part(parts, "username", "user"), _part(parts, "password", "password")
    database = _decoded(parts.path.removeprefix("/"), "database")
    if "/" in parts.path.removeprefix("/"):
        raise ValueError("it names more than one database: a / in a name is written %2F")
    for name, value in (("user", user), ("host", parts.hostname), ("database", database)):
        if not value:
            raise ValueError(f"it names no {name}: {_SHAPE}")
    return CatalogAddress(_host(parts), port or 5432, database, user, password or None, **_checked_options(parts.query))


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        pass
    else:
        raise ValueError("its host is an IPv6 address, which Spark is not started for: name the host")
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?", host):
        raise ValueError("its host is not the name of one machine")
    return host


def _part(parts: SplitResult, attribute: str, name: str) -> str:
    return _decoded(getattr(parts, attribute) or "", name)


def _decoded(text: str, name: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError(f"a % in the {name} is written %25")
    try:
        value = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ValueError(f"its {name} is not UTF-8") from None
    if "\0" in value:
        raise ValueError(f"its {name} holds a NUL")
    return value


def _checked_options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS or name in options:
            raise ValueError(f"after the ? it may say {' and '.join(_OPTIONS)}, each once, and nothing else")
        options[name] = value
    if options.get("sslmode", _SSL_MODES[0]) not in _SSL_MODES:
        raise ValueError(f"sslmode is one of {', '.join(_SSL_MODES)}")
    if not Path(options.get("sslrootcert", "/")).is_absolute():
        raise ValueError("sslrootcert is the absolute path of a file")
    return options


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _query(options: Mapping[str, str]) -> str:
    return "?" + "&".join(f"{name}={_quoted(value)}" for name, value in options.items()) if options else ""
