"""`weftwork doctor`: look at this machine and at a host, and say what is not well and what to do about it."""

from collections.abc import Iterator

import click
import msgspec
from click.core import ParameterSource

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, data_option
from weftwork.cli.console.table import colour
from weftwork.cli.console.text import say, say_json
from weftwork.cli.doctor.host_checks import check_host
from weftwork.cli.doctor.machine_checks import Finding, check_machine
from weftwork.settings import SettingsError, load_settings


@click.command()
@data_option
@client_options
def doctor(client: Client, as_json: bool, data: str | None) -> None:
    """Check this machine and a host, and say what to do about what is not well.

    Prints a line for each check: ok, warn or fail. Nothing is changed, and the store is only read, if no host holds
    it. Exits with 1 if something fails. The host may be any OpenWOP host; without --url it is the one of the settings
    of this machine, and if that does not run it is no failure.

    \b
    Examples:
      weftwork doctor
      weftwork doctor --url https://host.example --json
    """
    findings: list[Finding] = []
    for finding in _findings(client, data):
        findings.append(finding)
        if not as_json:
            advice = f"; {finding.hint}" if finding.hint else ""
            state = click.style(f"{finding.status:<4}", fg=colour(finding.status))
            say(f"{state}  {finding.check:<11}  {finding.message.rstrip('.')}{advice}.")
    well = all(finding.status != "fail" for finding in findings)
    if as_json:
        say_json({"ok": well, "findings": [msgspec.to_builtins(each) for each in findings]})
    if not well:
        raise SystemExit(1)


def _findings(client: Client, data: str | None) -> Iterator[Finding]:
    yield from check_machine(data)
    context = click.get_current_context()
    named = context.get_parameter_source("url") is not ParameterSource.DEFAULT
    url = client.url if named else _own_url(data) or client.url
    yield from check_host(url, context.params["key"], named)


def _own_url(data: str | None) -> str | None:
    """Where a host with the settings of this machine listens, as far as they say."""
    try:
        settings = load_settings({"data": data} if data else {})
    except SettingsError:
        return None
    if not settings.port:
        return None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
