"""The setting `catalog`: an address of one form, refused in any other, and shown without its password."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from smelter.catalog_address import parse_address
from smelter.cli.main import run
from smelter.errors import WrongUsage
from smelter.settings import Settings, load_settings

SECRET = "sesame"
SHOWN = "postgresql://smelter:***@db.example:5432/lakes"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense", "begins with postgresql://"),
        ("mysql://u:sesame@h/d", "begins with postgresql://"),
        ("postgresql:u:sesame@h/d", "begins with postgresql://"),
        ("postgresql+psycopg2://u:sesame@h/d", "begins with postgresql://"),
        ("jdbc:postgresql://u:sesame@h/d", "begins with postgresql://"),
        ("postgresql://h/d", "names no user"),
        ("postgresql://:sesame@h/d", "names no user"),
        ("postgresql://u:sesame@/d", "names no host"),
        ("postgresql://u:sesame@h", "names no database"),
        ("postgresql://u:sesame@h/", "names no database"),
        ("postgresql://u:sesame@h/a/b", "more than one database"),
        ("postgresql://u:sesame/1@h/d", "no address with a host and a port"),
        ("postgresql://u:sesame@h:99999/d", "no address with a host and a port"),
        ("postgresql://u:sesame@h:port/d", "no address with a host and a port"),
        ("postgresql://u:sesame@[::1]/d", "IPv6"),
        ("postgresql://u:sesame@a,b/d", "one machine"),
        ("postgresql://u:sesame@%2Fvar%2Frun/d", "one machine"),
        ("postgresql://u:sesame%@h/d", "written %25"),
        ("postgresql://u:sesame%FF@h/d", "not UTF-8"),
        ("postgresql://u:sesame@h/d%00", "NUL"),
        ("postgresql://u:sesame 1@h/d", "a blank"),
        ("postgresql://u:sesame@h/d#x", "a #"),
        ("postgresql://u:sesame@h/d?options=-csearch_path%3Dx", "nothing else"),
        ("postgresql://u:sesame@h/d?password=sesame", "nothing else"),
        ("postgresql://u:sesame@h/d?sslmode=require&sslmode=disable", "each once"),
        ("postgresql://u:sesame@h/d?sslmode=maybe", "sslmode is one of"),
        ("postgresql://u:sesame@h/d?sslrootcert=root.crt", "absolute path"),
    ],
)
def test_another_address_is_refused_and_not_repeated(
    address: str, why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMELTER_CATALOG", address)
    assert run(["--debug", "settings"]) == 2
    said = capsys.readouterr()
    assert why in said.err
    assert "SMELTER_CATALOG" in said.err
    assert SECRET not in said.out + said.err


@pytest.mark.parametrize("value", ["5432", "true", '{host = "sesame"}', '["postgresql://u:sesame@h/d"]'])
def test_what_is_no_text_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "smelter.toml").write_text(f"catalog = {value}\n")
    with pytest.raises(WrongUsage, match="it must be a text") as refusal:
        load_settings(tmp_path, {})
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize("words", [["settings"], ["settings", "--json"]])
def test_the_password_is_not_shown(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMELTER_CATALOG", f"postgresql://smelter:{SECRET}@db.example/lakes")
    monkeypatch.setenv("COLUMNS", "300")
    assert run(words) == 0
    said = capsys.readouterr().out
    assert SECRET not in said
    assert SHOWN in said
    settings = load_settings().values
    assert SECRET not in f"{settings!r} {settings} {settings.catalog!r} {settings.catalog}"
    assert settings.catalog is not None
    assert settings.catalog.password == SECRET


def test_without_the_setting_the_catalog_is_the_file_in_the_lake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["settings", "--json"]) == 0
    (shown,) = [one for one in json.loads(capsys.readouterr().out) if one["name"] == "catalog"]
    assert (shown["value"], shown["origin"]) == ("", "default")
    assert Settings().catalog is None


def test_a_settings_file_with_a_password_must_be_its_owners_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "smelter.toml"
    file.write_text(f'catalog = "postgresql://smelter:{SECRET}@db.example/lakes"\n')
    for mode in (0o644, 0o640, 0o604, 0o620):
        file.chmod(mode)
        assert run(["--debug", "--lake", str(tmp_path), "settings"]) == 2
        said = capsys.readouterr().err
        assert "others may read it" in said
        assert f"chmod 600 {file}" in said
        assert SECRET not in said
    file.chmod(0o600)
    assert str(load_settings(tmp_path, {}).values.catalog) == SHOWN
    file.write_text('catalog = "postgresql://smelter@db.example/lakes"\n')
    file.chmod(0o644)
    assert str(load_settings(tmp_path, {}).values.catalog) == SHOWN.replace(":***", "")


def test_every_sign_may_be_in_a_name_and_reaches_both_drivers() -> None:
    address = parse_address("postgresql://a%40b:p%3A%2F%25+%24%7Bx%7D@db.example:6432/la%20k%C3%A9s%3Fx%3D1%2B")
    told = address.libpq()
    assert (told["user"], told["password"], told["dbname"], told["port"]) == ("a@b", "p:/%+${x}", "la kés?x=1+", 6432)
    assert address.jdbc({}).startswith("jdbc:postgresql://db.example:6432/la%20k%C3%A9s%3Fx%3D1%2B?")
    assert address.jdbc_secrets({}) == {"user": "a@b", "password": "p:/%+${x}"}
    assert "p:/" not in address.jdbc({})
    assert parse_address(str(address).replace(":***", "")) == replace(address, password=None)


def test_encryption_is_told_to_both_drivers() -> None:
    address = parse_address("postgresql://u@h/d?sslmode=verify-full&sslrootcert=/etc/ro%20ot.crt")
    assert (address.libpq()["sslmode"], address.libpq()["sslrootcert"]) == ("verify-full", "/etc/ro ot.crt")
    assert "sslmode=verify-full&sslrootcert=%2Fetc%2Fro%20ot.crt" in address.jdbc({"PGSSLMODE": "disable"})
    assert "sslmode=require" in parse_address("postgresql://u@h/d").jdbc({"PGSSLMODE": "require"})
    assert parse_address("postgresql://u@h/d").jdbc_secrets({"PGPASSWORD": "x"}) == {"user": "u", "password": "x"}
