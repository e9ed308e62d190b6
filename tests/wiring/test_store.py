"""The store that the settings select, and what is shown of a URL with a password."""

import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.harness.cases import each_case
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.cli.client.store_location import warn_of_password
from weftwork.settings import Settings, SettingsError, load_settings
from weftwork.wiring.store import SINGLE_CONNECTIONS, build_store, describe_store, store_address

URL = "postgres://weft:s%40crt@db.example.org/weft"


def settings(tmp_path: Path, **options: Any) -> Settings:
    return load_settings({"data": str(tmp_path), **options}, {})


@each_case(
    "store, kind",
    ("sqlite", SqliteStore),
    ("memory", MemoryStore),
    (URL, PostgresStore),
    ("postgresql:///weft?host=/run/postgresql", PostgresStore),
)
def test_a_value_selects_a_store(tmp_path: Path, store: str, kind: type) -> None:
    assert isinstance(build_store(settings(tmp_path, store=store)), kind)


def test_the_setting_comes_from_the_environment_and_the_file(tmp_path: Path) -> None:
    (tmp_path / "weftwork.toml").write_text(f'store = "{URL}"\nstore_schema = "flows"\n')
    found = settings(tmp_path)
    assert (found.store, found.store_schema, found.store_kind) == (URL, "flows", "postgres")
    assert load_settings({"data": str(tmp_path)}, {"WEFTWORK_STORE": "memory"}).store_kind == "memory"


@each_case("store", "", "sqlit", "mysql://weft:s3cret@db/weft", "postgres:s3cret", "s3cret@postgres://db")
def test_another_value_is_refused_without_showing_it(tmp_path: Path, store: str) -> None:
    with pytest.raises(
        SettingsError, match=r"--store must be sqlite, memory, or the URL of a PostgreSQL database"
    ) as e:
        settings(tmp_path, store=store)
    assert "s3cret" not in str(e.value)


@each_case("schema", "", "Weft", "1st", "pg_flows", "a-b", 'a"b', "x" * 64)
def test_a_schema_is_a_plain_name(tmp_path: Path, schema: str) -> None:
    with pytest.raises(SettingsError, match="the name of the schema"):
        store_address(settings(tmp_path, store=URL, store_schema=schema))


def test_a_process_has_a_connection_for_each_purpose_and_a_pool(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--store-connections must be between 5 and 100"):
        settings(tmp_path, store=URL, store_connections=SINGLE_CONNECTIONS)


@each_case(
    "url",
    URL,
    URL.replace("s%40crt", "s@crt"),
    "postgresql://weft@db.example.org/weft?password=s%40crt",
    "postgres://weft:s%2540crt@db.example.org/weft",
)
def test_the_password_is_masked_however_it_is_written(tmp_path: Path, url: str) -> None:
    shown = describe_store(settings(tmp_path, store=url))
    assert "crt" not in shown
    assert "db.example.org/weft" in shown
    assert shown.endswith(", schema weftwork")


def test_the_other_stores_are_described_as_before(tmp_path: Path) -> None:
    assert describe_store(settings(tmp_path)) == str(tmp_path)
    assert describe_store(settings(tmp_path, store="memory")) == "in memory, lost at exit"


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(SettingsError, match=r"pip install 'weftwork\[postgres\]'"):
        store_address(settings(tmp_path, store=URL))


@each_case("store, warns", (URL, True), ("postgres://db/weft?password=x", True), ("postgres://weft@db/weft", False),
           ("sqlite", False), ("postgres://[", False))  # fmt: skip
def test_a_password_in_an_option_is_a_warning(monkeypatch: pytest.MonkeyPatch, store: str, warns: bool) -> None:
    said: list[str] = []
    monkeypatch.setattr(click, "echo", lambda text, err: said.append(text))
    warn_of_password(store)
    assert bool(said) is warns
    assert not any("crt" in text for text in said)
