"""Airflow's settings file: all that it needs to know, so that a process which has only AIRFLOW_HOME finds the rest."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from smelter.embedded.home import Home, kept_secrets, refuse_name, write_private

ADDRESS = "127.0.0.1"
ADMIN, VIEWER = "admin", "viewer"
PARALLEL_TASKS = 8
BUSY_SECONDS = 60


def _fernet_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def _long_secret() -> str:
    return secrets.token_urlsafe(64)


def _password() -> str:
    return secrets.token_urlsafe(18)


KEYS = {"fernet_key": _fernet_key, "jwt_secret": _long_secret, "secret_key": _long_secret}
PEOPLE = {ADMIN: _password, VIEWER: _password}


def configure(home: Home, port: int, dags: Path) -> None:
    """Write the settings file; keys and passwords are made once and kept, so a second run writes the same.

    Every user has a password before Airflow starts: it makes up, and prints, the password of one who has none.
    """
    refuse_name(dags)
    kept_secrets(home.passwords, PEOPLE)
    sections = _sections(home, port, dags, kept_secrets(home.keys, KEYS))
    write_private(home.configuration, "\n".join(_section(name, options) for name, options in sections.items()))


def configured_port(home: Home) -> int | None:
    """The port that the platform ran on the last time; nothing if it never ran."""
    parser = ConfigParser(interpolation=None)
    with suppress(OSError, ConfigError, UnicodeDecodeError, ValueError):
        parser.read_string(home.configuration.read_text("utf-8"))
        return parser.getint("api", "port")
    return None


def url_of(port: int) -> str:
    """Where the API server answers."""
    return f"http://{ADDRESS}:{port}"


def _sections(home: Home, port: int, dags: Path, keys: Mapping[str, str]) -> dict[str, dict[str, object]]:
    return {
        "core": {
            "dags_folder": dags,
            "plugins_folder": home.root / "plugins",
            "executor": "LocalExecutor",
            "parallelism": PARALLEL_TASKS,
            "load_examples": False,
            "execution_api_server_url": f"{url_of(port)}/execution/",
            "simple_auth_manager_users": f"{ADMIN}:admin,{VIEWER}:viewer",
            "simple_auth_manager_passwords_file": home.passwords,
            "fernet_key": keys["fernet_key"],
        },
        "database": {"sql_alchemy_conn": f"sqlite:///{quote(str(home.database))}?timeout={BUSY_SECONDS}"},
        "api": {
            "host": ADDRESS,
            "port": port,
            "base_url": url_of(port),
            "workers": 1,
            "secret_key": keys["secret_key"],
        },
        "api_auth": {"jwt_secret": keys["jwt_secret"]},
        # A task that `smelt down` stopped in the middle is found and run again this soon after the next start.
        "scheduler": {"orphaned_tasks_check_interval": 30},
        "dag_processor": {"parsing_processes": 1, "refresh_interval": 30},
        # Airflow's own defaults name a folder `{AIRFLOW_HOME}` when the home has a `%` in its path.
        "logging": {
            "base_log_folder": home.logs,
            "dag_processor_child_process_log_directory": home.logs / "dag_processor",
            "colored_console_log": False,
        },
        "usage_data_collection": {"enabled": False},
    }


def _section(name: str, options: Mapping[str, object]) -> str:
    lines = [f"{option} = {str(value).replace('%', '%%')}" for option, value in options.items()]
    return "\n".join([f"[{name}]", *lines, ""])
