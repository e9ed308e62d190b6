"""`weftwork store`: check a store, migrate its schema, and copy a store to PostgreSQL."""

import asyncio
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from weftwork.cli.client.options import json_option
from weftwork.cli.client.store_location import StoreLocation, store_options, warn_of_password
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.text import clean, say, say_document, say_json
from weftwork.cli.console.units import count_of
from weftwork.cli.doctor.findings import print_findings
from weftwork.cli.doctor.machine_checks import check_database, is_host_running
from weftwork.cli.doctor.store_checks import check_postgres
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.ports.store_copy import UncopiedTable
from weftwork.protocol.errors import HostFault
from weftwork.settings import SettingsError
from weftwork.wiring.store import describe_store

T = TypeVar("T")
PROGRESS_SECONDS: Final = 1.0
"""Seconds between two lines of progress if standard error is not a terminal."""


@click.group(cls=CommandGroup)
def store() -> None:
    """Check a store, migrate its schema, and copy a store to PostgreSQL."""


@store.command()
@click.option(
    "--replicas",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Processes that are going to use the database; the check compares their connections with its limits.",
)
@store_options
@json_option
def check(location: StoreLocation, as_json: bool, replicas: int) -> None:
    """Check a store, and suggest a fix for each problem.

    Prints one line per check: ok, warn or fail. Exits with 1 if a check fails. Nothing is changed, and hosts may be
    running.

    \b
    Examples:
      weftwork store check --store postgres://weftwork@db.example.org/weftwork
      weftwork store check --data ./data --json
    """
    settings = location.settings()
    if settings.store_kind == "postgres":
        findings = check_postgres(settings, replicas)
    else:
        findings = iter((check_database(settings, is_host_running(settings.data_folder)),))
    if not print_findings(findings, as_json):
        raise SystemExit(1)


@store.command()
@store_options
@json_option
def migrate(location: StoreLocation, as_json: bool) -> None:
    """Create the schema of a store, or upgrade it to this release.

    Does nothing if the schema is up to date. A PostgreSQL store can be migrated while a host of the release before uses
    it. The store of a data folder is migrated by every start of a host as well; the host must not be running.
    """
    settings = location.settings()
    from weftwork.wiring.migration import migrate_store

    def on_migrated(number: int) -> None:
        if not as_json:
            say(f"applied migration {number}", err=True)

    versions = _run(migrate_store(settings, on_migrated))
    before, after = versions
    text = f"migrated from version {before} to {after}" if before else f"created, version {after}"
    if before == after:
        text = f"is up to date, version {after}"
    document = {"store": describe_store(settings), "before": before, "after": after}
    say_document(document, as_json, [f"{clean(document['store'], 300)}: {text}."])


@store.command()
@click.argument("source", metavar="SOURCE", type=click.Path(path_type=Path))
@click.argument("target", metavar="[URL]", required=False)
@json_option
def copy(source: Path, target: str | None, as_json: bool) -> None:
    """Copy the store of a data folder, or an SQLite file, to an empty PostgreSQL store.

    Without URL, the target is the store of the environment (WEFTWORK_STORE) or of the settings file in the folder. No
    host may be using either store. Every table is copied, read back and compared; the schema is created if it is
    missing. If the command is interrupted, run it again: it continues with the tables that are missing. The bytes of
    assets stay where they are.

    \b
    Example:
      weftwork store copy ./data postgres://weftwork@db.example.org/weftwork
    """
    if target is not None:
        warn_of_password(target)
    folder = source if source.is_dir() else source.parent
    settings = StoreLocation(str(folder), target).settings()
    if settings.store_kind != "postgres":
        raise click.UsageError("the target must be the URL of a PostgreSQL database; name it, or set WEFTWORK_STORE.")
    from weftwork.wiring.store_copy import copy_store, find_database

    try:
        database = find_database(source)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    progress = _Progress()
    results = _run(copy_store(database, settings, progress.report))
    progress.end()
    rows = sum(each.rows for each in results)
    if as_json:
        tables = [msgspec.to_builtins(each) for each in results]
        say_json({"store": describe_store(settings), "rows": rows, "tables": tables})
        return
    tables = count_of(len(results), "table")
    say(f"copied and verified {count_of(rows, 'row')} in {tables} to {clean(describe_store(settings), 300)}.")
    _say_next_steps(database)


def _say_next_steps(database: Path) -> None:
    folder = clean(str(database.parent), 300)
    say("")
    say("Next:")
    say("  1. set WEFTWORK_STORE, or `store` in the settings file, to the URL of the target")
    say(f"  2. start the host with --data {folder}: the bytes of assets are still in that folder, or in S3")
    say("  3. check a few runs, and that API keys work; all keys and links are the same as before")
    say(f"  4. move {clean(database.name)} away: a host that is started on it would execute the same runs again")


class _Progress:
    """Prints how many rows of each table are copied: in place on a terminal, otherwise once a second."""

    def __init__(self) -> None:
        self._in_place = sys.stderr.isatty()
        self._reported_at = time.monotonic()
        self._width = 0

    def report(self, table: str, done: int, total: int) -> None:
        text = f"{table}: {done:,} of {total:,} rows"
        if self._in_place:
            click.echo(f"\r{text:<{self._width}}", err=True, nl=False)
            self._width = len(text)
        elif time.monotonic() - self._reported_at >= PROGRESS_SECONDS:
            click.echo(text, err=True)
            self._reported_at = time.monotonic()

    def end(self) -> None:
        if self._in_place:
            click.echo(f"\r{'':<{self._width}}\r", err=True, nl=False)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work. Raises ClickException or UsageError."""
    try:
        return asyncio.run(work)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    except (HostLocked, StoreUnavailable, HostFault, UncopiedTable) as error:
        raise click.ClickException(f"{clean(str(error), 600)}.") from None
