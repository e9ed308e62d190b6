"""`weftwork doctor`: check this machine and a host, and suggest a fix for each problem."""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, data_option
from weftwork.cli.console.text import say, say_json
from weftwork.cli.console.units import count_of
from weftwork.cli.doctor.findings import Finding, print_findings
from weftwork.cli.doctor.host_checks import check_host
from weftwork.cli.doctor.machine_checks import check_machine, is_host_running
from weftwork.settings import SettingsError, load_settings


@click.command()
@data_option
@click.option(
    "--salvage",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Copy the readable rows of a damaged store to this new file, and do nothing else.",
)
@client_options
def doctor(client: Client, as_json: bool, data: str | None, target: Path | None) -> None:
    """Check this machine and a host, and suggest fixes.

    Prints one line per check: ok, warn or fail. Exits with 1 if a check fails. Nothing is changed; the store is read
    only if no host is using it. --url may be any OpenWOP host. Without --url the command checks the host that this
    machine's settings describe, and it is not a failure if that host is not running.

    \b
    Examples:
      weftwork doctor
      weftwork doctor --url https://host.example --json
    """
    if target is not None:
        _salvage(data, target, as_json)
        return
    if not print_findings(_findings(client, data), as_json):
        raise SystemExit(1)


def _salvage(data: str | None, target: Path, as_json: bool) -> None:
    """Copy the store of a host that is not running."""
    from weftwork.adapters.sqlite.database.connection import OUTAGES
    from weftwork.adapters.sqlite.operation.salvage import salvage
    from weftwork.protocol.errors import HostFault
    from weftwork.wiring.data_folder import DATABASE_FILE

    try:
        settings = load_settings({"data": data} if data else {})
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    database = settings.data_folder / DATABASE_FILE
    if not database.exists():
        raise click.ClickException(f"no store in {settings.data_folder}; pass the host's data folder with --data DIR.")
    if is_host_running(settings.data_folder):
        raise click.ClickException(f"a host is using {settings.data_folder}; stop it first.")
    try:
        tables = salvage(database, target)
    except FileExistsError:
        raise click.ClickException(f"{target} already exists; pass the name of a new file.") from None
    except (*OUTAGES, HostFault) as error:
        raise click.ClickException(f"nothing can be salvaged: {error}; restore a backup.") from None
    if as_json:
        say_json({"tables": [msgspec.to_builtins(each) for each in tables]})
        return
    for each in tables:
        say(f"{each.name}: {count_of(each.rows, 'row')}{'' if each.is_complete else ', others are lost'}")


def _findings(client: Client, data: str | None) -> Iterator[Finding]:
    yield from check_machine(data)
    context = click.get_current_context()
    url_given = context.get_parameter_source("url") is not ParameterSource.DEFAULT
    url = client.url if url_given else _own_url(data) or client.url
    yield from check_host(url, context.params["key"], url_given)


def _own_url(data: str | None) -> str | None:
    """The URL at which a host with this machine's settings listens; None if the port is not fixed."""
    try:
        settings = load_settings({"data": data} if data else {})
    except SettingsError:
        return None
    if not settings.port:
        return None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
