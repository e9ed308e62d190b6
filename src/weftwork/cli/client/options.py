"""Options that several commands share: --url and --key, --data and --json.

Also the suggestions for shell completion: fixed names, and ids listed by the host if it responds within a second.
Completion never fails and never prompts.
"""

import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import click
from click.core import ParameterSource

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.transport import Transport
from weftwork.cli.console.documents import as_object, objects
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.wire.v1.paths import path_for

DEFAULT_URL: Final = "http://127.0.0.1:8787"

data_option = click.option("--data", metavar="DIR", help="Data folder of the host.  [default: the user's data folder]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def client_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --url, --key and --json; the command gets `client` and `as_json`."""

    @click.option(
        "--url",
        envvar="WEFTWORK_URL",
        default=DEFAULT_URL,
        show_default=True,
        metavar="URL",
        help="Base URL of an OpenWOP v1 host. Can also be set with WEFTWORK_URL.",
    )
    @click.option(
        "--key",
        envvar="WEFTWORK_KEY",
        metavar="KEY",
        help="API key for the host. Prefer WEFTWORK_KEY: other users of the machine can see command lines.",
    )
    @json_option
    @wraps(command)
    def with_client(url: str, key: str | None, **arguments: Any) -> Any:
        return command(client=Client(url, key), **arguments)

    return with_client


TIMEOUT_SECONDS: Final = 1.0
"""Longer waits would block the shell; completion then suggests nothing."""
_LIMIT_QUERY: Final[Mapping[str, int]] = {"limit": 50}
_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""Ids that a shell reads as one plain word. Ids come from a host and are inserted into a command line."""


def suggest_statuses(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    return [each for each in STATUSES if each.startswith(typed)]


def suggest_runs(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Ids of the newest runs."""
    return _suggest_from_host(context, typed, "listRuns", "runs", "runId")


def suggest_kinds(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Interrupt kinds that a person answers."""
    return [each for each in STATUS_BY_KIND if each.startswith(typed)]


def suggest_waiting_runs(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Ids of the runs with an open interrupt, oldest interrupt first."""
    return list(dict.fromkeys(_suggest_from_host(context, typed, "listInterrupts", "interrupts", "runId")))


def suggest_workflows(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Workflow ids, in alphabetical order."""
    return _suggest_from_host(context, typed, "listWorkflows", "workflows", "workflowId")


def suggest_nodes(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Node types; only a weftwork host lists them."""
    return _suggest_from_host(context, typed, "listNodeTypes", "nodeTypes", "typeId", {})


def _suggest_from_host(
    context: click.Context, typed: str, operation: str, member: str, name: str, query: Mapping[str, int] = _LIMIT_QUERY
) -> list[str]:
    typed_url, typed_key = (
        context.get_parameter_source(each) is ParameterSource.COMMANDLINE for each in ("url", "key")
    )
    url: Any = context.params.get("url") or os.environ.get("WEFTWORK_URL")
    key: Any = context.params.get("key") or os.environ.get("WEFTWORK_KEY")
    # Completion runs before the user presses Enter, so the key of the environment is sent only to its own URL.
    if not key or (typed_url and not typed_key):
        return []
    try:
        # Not through Client, which retries.
        transport = Transport(url or DEFAULT_URL, key, TIMEOUT_SECONDS)
        page = transport.request("GET", path_for(operation), query=query)
    except Exception:
        # An error message would end up in the user's command line.
        return []
    ids = [str(row.get(name)) for row in objects(as_object(page).get(member))]
    return [each for each in ids if each.startswith(typed) and _SAFE.fullmatch(each)]
