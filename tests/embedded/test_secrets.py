"""Keys and passwords are made once, lie in files of their owner alone, and stand on no command line."""

from __future__ import annotations

import configparser
import json
import stat
import sys
from pathlib import Path

import pytest

from smelter.embedded.components import airflow_plan
from smelter.embedded.configuration import configure, configured_port
from smelter.embedded.environment import environment
from smelter.embedded.home import Home
from smelter.errors import Refused
from smelter.settings import Settings

SECRET_FILES = ("airflow.cfg", "keys.json", "passwords.json")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    one = Home.at(tmp_path / "lake")
    one.make()
    configure(one, 8080, tmp_path / "dags")
    return one


def secrets_of(home: Home) -> list[str]:
    return [*json.loads(home.keys.read_text()).values(), *json.loads(home.passwords.read_text()).values()]


def settings_of(home: Home) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(home.configuration, "utf-8")
    return parser


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", SECRET_FILES)
def test_a_secret_lies_in_a_file_of_its_owner_alone(home: Home, name: str) -> None:
    assert mode(home.root / name) == 0o600
    assert mode(home.root) == 0o700


@pytest.mark.parametrize("name", SECRET_FILES)
def test_a_file_that_others_may_read_is_closed(home: Home, name: str) -> None:
    (home.root / name).chmod(0o644)
    home.root.chmod(0o755)
    home.make()
    configure(home, 8080, home.lake / "dags")
    assert mode(home.root / name) == 0o600
    assert mode(home.root) == 0o700


def test_a_second_run_keeps_every_secret(home: Home) -> None:
    before = {name: (home.root / name).read_text() for name in SECRET_FILES}
    configure(home, 8080, home.lake.parent / "dags")
    assert {name: (home.root / name).read_text() for name in SECRET_FILES} == before


def test_two_homes_share_no_secret(home: Home, tmp_path: Path) -> None:
    other = Home.at(tmp_path / "other")
    other.make()
    configure(other, 8080, tmp_path / "dags")
    assert not set(secrets_of(home)) & set(secrets_of(other))
    assert all(len(secret) >= 20 for secret in secrets_of(home))


def test_every_user_has_a_password_so_that_airflow_prints_none(home: Home) -> None:
    users = {user.split(":")[0] for user in settings_of(home)["core"]["simple_auth_manager_users"].split(",")}
    assert users == set(json.loads(home.passwords.read_text())) == {"admin", "viewer"}


def test_a_password_that_is_missing_is_made_and_the_others_stay(home: Home) -> None:
    before = json.loads(home.passwords.read_text())
    home.passwords.write_text(json.dumps({"admin": before["admin"]}))
    configure(home, 8080, home.lake / "dags")
    after = json.loads(home.passwords.read_text())
    assert after["admin"] == before["admin"]
    assert after["viewer"] not in ("", before["viewer"])


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"admin": 1}'])
def test_a_damaged_file_of_secrets_is_refused_and_not_replaced(home: Home, text: str) -> None:
    home.keys.write_text(text)
    with pytest.raises(Refused) as refusal:
        configure(home, 8080, home.lake / "dags")
    assert str(home.keys) in str(refusal.value)
    assert home.keys.read_text() == text


def test_no_secret_stands_on_a_command_line_or_in_the_environment(home: Home) -> None:
    plan = airflow_plan(8080, home.lake / "dags")
    lines = [plan.migrate, plan.sample().words, *(component.words for component in plan.components)]
    environ = environment(home, Settings(lake=home.lake), {})
    said = " ".join([word for line in lines for word in line] + [*environ.values()])
    assert not any(secret in said for secret in secrets_of(home))


def test_whoever_has_only_the_home_finds_the_database(home: Home) -> None:
    address = settings_of(home)["database"]["sql_alchemy_conn"]
    assert address.startswith(f"sqlite:///{home.database}?")


def test_airflow_listens_on_this_machine_only(home: Home) -> None:
    said = settings_of(home)
    assert said["api"]["host"] == "127.0.0.1"
    assert said["core"]["execution_api_server_url"] == "http://127.0.0.1:8080/execution/"
    words = {component.name: component.words for component in airflow_plan(8080, home.lake).components}
    assert all("--skip-serve-logs" in words[name] for name in ("scheduler", "triggerer"))


def test_a_lake_may_have_a_strange_name(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "ü%20é ?#1 %d")
    home.make()
    configure(home, 8080, tmp_path / "dags")
    said = settings_of(home)
    assert said["core"]["simple_auth_manager_passwords_file"] == str(home.passwords)
    assert said["logging"]["base_log_folder"] == str(home.logs)
    assert "%25d/run/airflow/airflow.db?timeout=" in said["database"]["sql_alchemy_conn"]


def test_the_environment_has_the_lake_and_nothing_of_another_airflow(home: Home, tmp_path: Path) -> None:
    outer = {
        "AIRFLOW_HOME": "/elsewhere",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "True",
        "_AIRFLOW_PROCESS_CONTEXT": "server",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SMELTER_CONTRACTS": "relative",
        "SMELTER_MAX_DEPTH": "7",
        "http_proxy": "http://proxy:3128",
        "no_proxy": "example.com",
        "PATH": "/usr/bin",
    }
    settings = Settings(lake=home.lake, contracts=tmp_path / "relative")
    environ = environment(home, settings, outer)
    assert {name for name in environ if "AIRFLOW" in name} == {"AIRFLOW_HOME"}
    assert environ["AIRFLOW_HOME"] == str(home.root)
    assert environ["SMELTER_LAKE"] == str(home.lake)
    assert environ["SMELTER_CONTRACTS"] == str(tmp_path / "relative")
    assert environ["SMELTER_MAX_DEPTH"] == "7"
    assert "SMELTER_JARS" not in environ
    assert "PYTHONDONTWRITEBYTECODE" not in environ
    assert environ["PATH"] == f"{Path(sys.executable).parent}:/usr/bin"
    assert environ["no_proxy"] == environ["NO_PROXY"] == "example.com,127.0.0.1,localhost"
    assert environ["SPT_NOENV"] == "1"


def test_the_port_of_the_last_start_is_known_to_the_next(home: Home, tmp_path: Path) -> None:
    assert configured_port(Home.at(tmp_path / "another")) is None
    assert configured_port(home) == 8080
    configure(home, 8097, tmp_path / "dags")
    assert configured_port(home) == 8097
    home.configuration.write_text("[api\nport = many")
    assert configured_port(home) is None
