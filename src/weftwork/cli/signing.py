"""`weftwork signing`: the keys that links are signed with, on a running host or on its store."""

import json
from typing import Any

import click

from weftwork.cli.operator import Operator

_data = click.option("--data", metavar="DIR", help="The host's data folder.  [default: the user's data folder]")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def signing() -> None:
    """List, renew and drop the keys that links are signed with.

    Talks to the running host through the socket in its data folder; without one, works on the store.
    """


@signing.command("ls")
@_data
@_json
def list_keys(data: str | None, as_json: bool) -> None:
    """Show the keys by their ids: never their secrets."""
    found = _ask(data, "signing.list", {})
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for row in found["keys"]:
        retired = f", retired {row['retiredAt']}" if "retiredAt" in row else ""
        click.echo(f"{row['kid']}  made {row['createdAt']}  {'signs' if row['signs'] else 'verifies'}{retired}")


@signing.command()
@_data
@_json
def rotate(data: str | None, as_json: bool) -> None:
    """Sign with a new key from now on.

    Links that were made before go on to work until they expire.
    """
    made = _ask(data, "signing.rotate", {})
    click.echo(json.dumps(made, indent=2) if as_json else f"{made['kid']} signs from now on; older keys still verify.")


@signing.command()
@click.argument("kid")
@_data
@_json
def drop(kid: str, data: str | None, as_json: bool) -> None:
    """Make nothing count that the key KID has signed, at once.

    For a key that others may know. If it is the one that signs, a new one is made first.
    """
    done = _ask(data, "signing.drop", {"kid": kid})
    text = f"{done['dropped']} is dropped, and every link that it signed; {done['signs']} signs."
    click.echo(json.dumps(done, indent=2) if as_json else text)


def _ask(data: str | None, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    with Operator(data) as operator:
        return operator.ask(operation, arguments)
