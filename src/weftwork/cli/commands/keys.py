"""`weftwork keys` and `weftwork signing`: API keys, and the keys that sign links and tokens.

Both talk to a running host through its admin socket, or open the store of a stopped one.
"""

import time
from typing import Any

import click

from weftwork.cli.client.admin_session import AdminSession
from weftwork.cli.client.options import json_option
from weftwork.cli.client.store_location import StoreLocation, store_options
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.text import say_document, say_json


@click.group(cls=CommandGroup)
def keys() -> None:
    """Create, list and revoke API keys.

    Talks to the running host through the admin socket in its data folder. If no host is running, changes the store.
    """


@keys.command()
@click.option("--tenant", default="default", show_default=True, help="Tenant of the key.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Scope to grant. Repeatable.  [default: all scopes except approvals:delegate and approvals:override]",
)
@click.option("--test", is_flag=True, help="Create a test key, which has separate data and can use test features.")
@click.option("--label", default="", help="Name of the key; identifies its holder at gates with a list of approvers.")
@click.option(
    "--expires-in",
    type=click.IntRange(1, 3650),
    metavar="DAYS",
    help="Days until the key expires.  [default: never]",
)
@store_options
@json_option
def create(
    tenant: str,
    scopes: tuple[str, ...],
    test: bool,
    label: str,
    expires_in: int | None,
    location: StoreLocation,
    as_json: bool,
) -> None:
    """Create an API key and print it.

    The key is printed only once; the host stores a hash. Standard output has only the key.

    A key answers approvals as its holder. To answer as other people, or to create links for them, add
    --scope approvals:delegate. To decide in place of the approvers of a gate, add --scope approvals:override. --scope
    replaces the default, so list every scope that the key needs.

    \b
    A key for an approver, and a key for a program that asks people:
      weftwork keys create --label ada --scope runs:read --scope approvals:respond
      weftwork keys create --scope runs:read --scope approvals:respond --scope approvals:delegate
    """
    arguments: dict[str, Any] = {"tenant": tenant, "mode": "test" if test else "live", "label": label}
    if scopes:
        arguments["scopes"] = scopes
    if expires_in is not None:
        arguments["expires_at"] = int(time.time() * 1000) + expires_in * 86_400_000
    key = _ask(location, "keys.create", arguments, makes_store=True)
    if as_json:
        say_json(key)
        return
    click.echo(key["key"])
    text = f"created {key['mode']} key {key['keyId']} for tenant {key['tenant']}"
    click.echo(f"{text}; store the key now, it is not shown again.", err=True)


@keys.command("ls")
@store_options
@json_option
def list_keys(location: StoreLocation, as_json: bool) -> None:
    """List API keys by id, with tenant, mode, state, label and scopes."""
    listing = _ask(location, "keys.list", {})
    say_document(listing, as_json, map(_key_line, listing["keys"]))


def _key_line(row: dict[str, Any]) -> str:
    state = "revoked" if "revokedAt" in row else f"until {row['expiresAt']}" if "expiresAt" in row else "valid"
    return f"{row['keyId']}  {row['tenant']:<16} {row['mode']}  {state}  {row['label']}  {'+'.join(row['scopes'])}"


@keys.command()
@click.argument("key_id")
@store_options
@json_option
def revoke(key_id: str, location: StoreLocation, as_json: bool) -> None:
    """Revoke a key. It stops working immediately."""
    row = _ask(location, "keys.revoke", {"key_id": key_id})
    say_document(row, as_json, [f"{row['keyId']} is revoked."])


def _ask(
    location: StoreLocation, operation: str, arguments: dict[str, Any], makes_store: bool = False
) -> dict[str, Any]:
    with AdminSession(location) as session:
        return session.request(operation, arguments, makes_store)


@click.group(cls=CommandGroup)
def signing() -> None:
    """List, rotate and drop the keys that sign links.

    Talks to the running host through the admin socket in its data folder. If no host is running, changes the store.
    """


@signing.command("ls")
@store_options
@json_option
def list_signing_keys(location: StoreLocation, as_json: bool) -> None:
    """List signing keys by id, without their secrets."""
    listing = _ask(location, "signing.list", {})
    rows = [(row, f", retired {row['retiredAt']}" if "retiredAt" in row else "") for row in listing["keys"]]
    signs = {True: "signs", False: "verifies"}
    lines = (f"{row['kid']}  created {row['createdAt']}  {signs[row['signs']]}{retired}" for row, retired in rows)
    say_document(listing, as_json, lines)


@signing.command()
@store_options
@json_option
def rotate(location: StoreLocation, as_json: bool) -> None:
    """Sign new links with a new key.

    Existing links stay valid until they expire.
    """
    key = _ask(location, "signing.rotate", {})
    say_document(key, as_json, [f"new links are signed with {key['kid']}; links of older keys stay valid."])


@signing.command()
@click.argument("kid")
@store_options
@json_option
def drop(kid: str, location: StoreLocation, as_json: bool) -> None:
    """Delete the signing key KID. Every link that it signed becomes invalid immediately.

    Use this for a key that may have leaked. If KID is the current signing key, a new one is created first.
    """
    result = _ask(location, "signing.drop", {"kid": kid})
    text = f"dropped {result['dropped']}; its links are invalid. The current signing key is {result['signs']}."
    say_document(result, as_json, [text])
