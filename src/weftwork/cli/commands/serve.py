"""`weftwork serve`: start the host in the foreground."""

import os
from typing import Any

import click

from weftwork.cli.client.store_location import warn_of_password
from weftwork.protocol.wire.v1.paths import SAMPLE_PREFIX
from weftwork.settings import DEFAULT_LOCAL_MODEL, Settings, SettingsError, load_settings, misspelt_variables


@click.command()
@click.option(
    "--config",
    metavar="FILE",
    help="TOML file with settings.  [default: weftwork.toml in the data folder, if it exists]",
)
@click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 selects a free port.  [default: 8787]"
)
@click.option(
    "--data",
    metavar="DIR",
    help="Data folder with the database, keys and admin socket.  [default: the user's data folder]",
)
@click.option(
    "--store",
    metavar="sqlite|memory|URL",
    help="Storage of runs; a URL like postgres://weftwork@db.example.org/weftwork is a PostgreSQL database.  "
    "[default: sqlite]",
)
@click.option("--migrate", is_flag=True, default=None, help="Create or migrate the schema of a PostgreSQL store.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Replace the host that uses the PostgreSQL store and does not respond. Its writes are refused from then on.",
)
@click.option(
    "--workflows",
    metavar="DIR",
    multiple=True,
    help="Folder of workflow definitions; every *.json is registered. Repeatable.",
)
@click.option(
    "--nodes",
    metavar="MODULE",
    multiple=True,
    help="Python module with node types, found in the current folder or on the import path. Repeatable.",
)
@click.option(
    "--envelope-kinds",
    metavar="PATH",
    multiple=True,
    help="Folder or file with the schemas of additional envelope kinds. Repeatable.",
)
@click.option(
    "--prompts",
    metavar="DIR",
    multiple=True,
    help="Folder of prompt templates, one per *.json file. Repeatable.",
)
@click.option(
    "--provider",
    metavar="MODULE:CLASS",
    multiple=True,
    help="Class or function that creates a model provider, found like the modules of --nodes. Repeatable.",
)
@click.option(
    "--model-script", metavar="FILE", help="Add the scripted model provider, with the responses in this file."
)
@click.option(
    "--local-model",
    metavar="[FILE]",
    is_flag=False,
    flag_value=DEFAULT_LOCAL_MODEL,
    help="Run a model on this machine: the weights in this GGUF file, or those of `weftwork models fetch`.",
)
@click.option(
    "--api-key",
    metavar="KEY=TENANT[:SCOPE+SCOPE]",
    multiple=True,
    help="API key to accept while this process runs, with all scopes unless some are listed. Repeatable.",
)
@click.option(
    "--conformance",
    is_flag=True,
    default=None,
    help="Register the built-in conformance workflows, and add a mock model that accepts images, audio and documents.",
)
@click.option(
    "--no-conversation",
    "conversation",
    flag_value=False,
    default=None,
    help="Disable conversations; workflows that use one are refused.",
)
@click.option(
    "--no-surfaces",
    "surfaces",
    flag_value=False,
    default=None,
    help="Record surfaces without showing them; no run waits for one.",
)
@click.option(
    "--test-seams",
    is_flag=True,
    default=None,
    help=f"Enable the test endpoints of conformance suites ({SAMPLE_PREFIX}).",
)
@click.option(
    "--allow-private-network",
    is_flag=True,
    default=None,
    help="Allow outbound requests to private networks, over plain HTTP and on any port.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Minimum level of log lines.  [default: info]",
)
def serve(config: str | None, take_over: bool, **options: Any) -> None:
    """Start the host in the foreground.

    On a new data folder the host creates an API key and prints it once. SIGTERM or Ctrl-C closes streams and stops the
    host; unfinished runs continue at the next start.

    Every option is also a setting: WEFTWORK_PORT=8000 in the environment, or port = 8000 in the TOML file. The command
    line takes precedence over the environment, and the environment over the file. Limits such as max_connections and
    max_live_runs are settings without an option; docs/reference/settings.md lists all settings.

    \b
    Examples:
      weftwork serve --workflows flows
      weftwork serve --port 9000 --data ./data
    """
    chosen = {name: value for name, value in options.items() if value not in (None, ())}
    try:
        for warning in misspelt_variables(os.environ):
            click.echo(f"warning: {warning}", err=True)
        if "store" in chosen:
            warn_of_password(chosen["store"])
        settings = load_settings(chosen, config=config)
        if take_over and settings.store_kind != "postgres":
            raise SettingsError(
                "--take-over works only for a PostgreSQL store; the host of a data folder must be stopped"
            )
        _start_host(settings, take_over)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def _start_host(settings: Settings, take_over: bool) -> None:
    # Imported late: `weftwork serve --help` does not need it.
    from weftwork.cli.serve.startup import configure_logging, run_host
    from weftwork.wiring.node_types import load_python_nodes
    from weftwork.wiring.providers import load_provider_class

    configure_logging(settings.log_level)
    # Before the event loop starts and before run_host freezes the garbage collector: modules stay for the lifetime.
    load_python_nodes(settings.nodes)
    for name in settings.provider:
        load_provider_class(name)
    # Not a setting: neither an option nor a file can make a host inject faults.
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
    if code := run(run_host(settings, take_over)):
        raise SystemExit(code)
