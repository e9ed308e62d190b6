"""`weftwork keys` and `weftwork signing`: API keys, and the keys that sign links and tokens.

Both work on a running host through its admin socket, or on the store of a stopped one.
"""

import time
from typing import Any

import click

from weftwork.cli.client.admin_session import AdminSession
from weftwork.cli.client.options import data_option, json_option
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.text import say_document, say_json


@click.group(cls=CommandGroup)
def keys() -> None:
    """Create, list and revoke API keys.

    Talks to the running host through the socket in its data folder; without one, works on the store.
    """


@keys.command()
@click.option("--tenant", default="default", show_default=True, help="The tenant the key belongs to.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="A scope to grant; repeatable.  [default: all, those to decide for others included]",
)
@click.option("--test", is_flag=True, help="Make a test key: it has data of its own and may use test features.")
@click.option("--label", default="", help="A name for the key. At approvals it is the name of who answers with it.")
@click.option(
    "--expires-in",
    type=click.IntRange(1, 3650),
    metavar="DAYS",
    help="Days until it expires.  [default: never]",
)
@data_option
@json_option
def create(
    tenant: str,
    scopes: tuple[str, ...],
    test: bool,
    label: str,
    expires_in: int | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Make a key and show it, this once.

    \b
    For a person who approves:
      weftwork keys create --label ada --scope runs:read --scope approvals:respond
    """
    arguments: dict[str, Any] = {"tenant": tenant, "mode": "test" if test else "live", "label": label}
    if scopes:
        arguments["scopes"] = scopes
    if expires_in is not None:
        arguments["expires_at"] = int(time.time() * 1000) + expires_in * 86_400_000
    made = _ask(data, "keys.create", arguments, makes_store=True)
    if as_json:
        say_json(made)
        return
    click.echo(made["key"])
    click.echo(f"{made['keyId']} for tenant {made['tenant']}, {made['mode']}; the key is not shown again.", err=True)


@keys.command("ls")
@data_option
@json_option
def list_keys(data: str | None, as_json: bool) -> None:
    """Show the keys: never the key itself, which is not kept."""
    found = _ask(data, "keys.list", {})
    say_document(found, as_json, map(_key_line, found["keys"]))


def _key_line(row: dict[str, Any]) -> str:
    state = "revoked" if "revokedAt" in row else f"until {row['expiresAt']}" if "expiresAt" in row else "valid"
    return f"{row['keyId']}  {row['tenant']:<16} {row['mode']}  {state}  {row['label']}  {'+'.join(row['scopes'])}"


@keys.command()
@click.argument("key_id")
@data_option
@json_option
def revoke(key_id: str, data: str | None, as_json: bool) -> None:
    """Stop a key from working, at once."""
    row = _ask(data, "keys.revoke", {"key_id": key_id})
    say_document(row, as_json, [f"{row['keyId']} is revoked."])


def _ask(data: str | None, operation: str, arguments: dict[str, Any], makes_store: bool = False) -> dict[str, Any]:
    with AdminSession(data) as operator:
        return operator.request(operation, arguments, makes_store)


@click.group(cls=CommandGroup)
def signing() -> None:
    """List, renew and drop the keys that links are signed with.

    Talks to the running host through the socket in its data folder; without one, works on the store.
    """


@signing.command("ls")
@data_option
@json_option
def list_signing_keys(data: str | None, as_json: bool) -> None:
    """Show the keys by their ids: never their secrets."""
    found = _ask(data, "signing.list", {})
    rows = [(row, f", retired {row['retiredAt']}" if "retiredAt" in row else "") for row in found["keys"]]
    signs = {True: "signs", False: "verifies"}
    lines = (f"{row['kid']}  made {row['createdAt']}  {signs[row['signs']]}{retired}" for row, retired in rows)
    say_document(found, as_json, lines)


@signing.command()
@data_option
@json_option
def rotate(data: str | None, as_json: bool) -> None:
    """Sign with a new key from now on.

    Links that were made before go on to work until they expire.
    """
    made = _ask(data, "signing.rotate", {})
    say_document(made, as_json, [f"{made['kid']} signs from now on; older keys still verify."])


@signing.command()
@click.argument("kid")
@data_option
@json_option
def drop(kid: str, data: str | None, as_json: bool) -> None:
    """Make nothing count that the key KID has signed, at once.

    For a key that others may know. If it is the one that signs, a new one is made first.
    """
    done = _ask(data, "signing.drop", {"kid": kid})
    text = f"{done['dropped']} is dropped, and every link that it signed; {done['signs']} signs."
    say_document(done, as_json, [text])
