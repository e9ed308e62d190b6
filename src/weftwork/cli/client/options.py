"""Options that several commands share: those of a client and the client they make, the data folder, JSON output."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import click

from weftwork.cli.client.http_client import Client

DEFAULT_URL: Final = "http://127.0.0.1:8787"

data_option = click.option("--data", metavar="DIR", help="The host's data folder.  [default: the user's data folder]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def client_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --url, --key and --json; the command gets `client` and `as_json`."""

    @click.option(
        "--url",
        envvar="WEFTWORK_URL",
        default=DEFAULT_URL,
        show_default=True,
        metavar="URL",
        help="The host to ask: any OpenWOP v1 host. Also WEFTWORK_URL.",
    )
    @click.option(
        "--key",
        envvar="WEFTWORK_KEY",
        metavar="KEY",
        help="An API key of that host. Better as WEFTWORK_KEY: other users can see a command line.",
    )
    @json_option
    @wraps(command)
    def with_client(url: str, key: str | None, **arguments: Any) -> Any:
        return command(client=Client(url, key), **arguments)

    return with_client
