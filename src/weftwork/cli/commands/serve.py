"""`weftwork serve`: start the host in the foreground."""

import os
from typing import Any

import click

from weftwork.protocol.wire.v1.paths import SAMPLE_PREFIX
from weftwork.settings import Settings, SettingsError, load_settings, misspelt_variables


@click.command()
@click.option(
    "--config",
    metavar="FILE",
    help="TOML file with settings; default: weftwork.toml in the data folder, if there.",
)
@click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 takes any.  [default: 8787]")
@click.option(
    "--data",
    metavar="DIR",
    help="Folder for the database, keys and socket.  [default: the user's data folder]",
)
@click.option("--store", type=click.Choice(["sqlite", "memory"]), help="Where runs live.  [default: sqlite]")
@click.option("--workflows", metavar="DIR", multiple=True, help="Register every *.json in DIR. Repeatable.")
@click.option(
    "--nodes",
    metavar="MODULE",
    multiple=True,
    help="Import MODULE, from here or where Python looks, and offer its nodes. Repeatable.",
)
@click.option(
    "--envelope-kinds",
    metavar="PATH",
    multiple=True,
    help="Take envelopes of the kinds whose schemas are in PATH, a folder or a file. Repeatable.",
)
@click.option(
    "--prompts",
    metavar="DIR",
    multiple=True,
    help="Let nodes refer to the prompt templates in DIR, one in each *.json. Repeatable.",
)
@click.option("--model-script", metavar="FILE", help="Let the scripted provider answer what FILE says.")
@click.option(
    "--api-key",
    metavar="KEY=TENANT[:SCOPE+SCOPE]",
    multiple=True,
    help="Accept KEY while this process runs; all scopes unless some are named. Repeatable.",
)
@click.option("--conformance", is_flag=True, default=None, help="Register our own conformance workflows.")
@click.option(
    "--no-conversation",
    "conversation",
    flag_value=False,
    default=None,
    help="Do without conversations: workflows that hold one are refused.",
)
@click.option("--test-seams", is_flag=True, default=None, help=f"Mount the conformance seams under {SAMPLE_PREFIX}.")
@click.option(
    "--allow-private-network",
    is_flag=True,
    default=None,
    help="Let requests to others reach private networks, by plain http too, on any port.",
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="[default: info]")
def serve(config: str | None, **options: Any) -> None:
    """Start the host in the foreground.

    Every option is also a setting: WEFTWORK_PORT=8000 in the environment, or port = 8000 in the TOML
    file. The command line wins, then the environment, then the file. On a new data folder a first API
    key is made and shown once. SIGTERM or Ctrl-C ends streams cleanly and exits; unfinished runs go on
    at the next start.

    Limits are settings too, but not options: max_connections, max_streams, max_live_runs and others. All of
    them are in docs/reference/settings.md.
    """
    given = {name: value for name, value in options.items() if value not in (None, ())}
    try:
        for warning in misspelt_variables(os.environ):
            click.echo(f"warning: {warning}", err=True)
        settings = load_settings(given, config=config)
        _start_host(settings)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def _start_host(settings: Settings) -> None:
    # Imported late: `weftwork --help` and `weftwork keys` need none of it.
    from weftwork.cli.serve.startup import configure_logging, run_host
    from weftwork.wiring.node_types import load_python_nodes

    configure_logging(settings.log_level)
    # Before there is a loop and before memory is settled: what stays for good is imported first.
    load_python_nodes(settings.nodes)
    # No setting: neither an option nor a file can make a host break itself.
    if faults := os.environ.get("WEFTWORK_FAULTS"):
        from weftwork.adapters.system.faults import arm_points

        try:
            arm_points(faults)
        except ValueError as error:
            raise SettingsError(f"WEFTWORK_FAULTS: {error}") from None
    try:
        from uvloop import run
    except ImportError:
        from asyncio import run
    if code := run(run_host(settings)):
        raise SystemExit(code)
