"""`weftwork kinds`: the kinds of envelopes that a host takes from models."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import align, print_table
from weftwork.cli.console.text import clean, say, say_json, similar_names
from weftwork.cli.render.schema_text import SchemaText
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_MAX_CELL: Final = 120


@click.group()
def kinds() -> None:
    """List and explain the kinds of envelopes that a host takes from models.

    Asks any OpenWOP v1 host, which says so without a key. Kinds that only one workflow knows are not among them.
    """


@kinds.command()
@client_options
def ls(client: Client, as_json: bool) -> None:
    """List the kinds that the host advertises.

    \b
    Example:
      weftwork kinds ls --url https://host.example
    """
    rows = [{"kind": name, "version": version, "from": _origin(name)} for name, version in _advertised(client).items()]
    if as_json:
        say_json({"kinds": rows})
        return
    head = ["kind", "version", "from"]
    print_table(head, [["" if row[each] is None else str(row[each]) for each in head] for row in rows], cut=("kind",))


@kinds.command()
@click.argument("kind", metavar="KIND")
@client_options
def show(client: Client, as_json: bool, kind: str) -> None:
    """Show what the payload of a kind holds; with --json, its schema.

    \b
    Example:
      weftwork kinds show clarification.request
    """
    try:
        schema = client.get(path_for("getEnvelopeSchema", schemaFile=f"{kind}.schema.json"))
    except RequestRefused as refused:
        if refused.status != 404:
            raise
        raise click.ClickException(_unknown_kind_text(client, kind)) from None
    if not is_object(schema):
        raise click.ClickException("the host's answer is no schema.")
    if as_json:
        say_json(schema)
        return
    for line in _kind_lines(kind, _advertised(client), schema):
        say(line)


def _advertised(client: Client) -> dict[str, int | None]:
    """Kinds with their versions, in the order of the host."""
    answer = client.get(path_for("getCapabilities"))
    found: Any = answer.get("supportedEnvelopes") if is_object(answer) else None
    if not is_array(found):
        raise click.ClickException(
            f"the host's answer to {method_and_path('getCapabilities')} does not list kinds of envelopes."
        )
    known = as_object(answer.get("schemaVersions"))
    numbers = {name: known.get(name) for name in found if isinstance(name, str)}
    return {name: number if isinstance(number, int) else None for name, number in numbers.items()}


def _origin(name: str) -> str:
    return "the protocol" if name in UNIVERSAL_KINDS or name in DISPLAY_KINDS else "the host"


def _unknown_kind_text(client: Client, kind: str) -> str:
    hint = similar_names(kind, _advertised(client), "kinds ls")
    return f"the host serves no schema of a kind {clean(kind, 100)}; {hint}."


def _kind_lines(kind: str, advertised: dict[str, int | None], schema: dict[str, Any]) -> Iterator[str]:
    version = advertised.get(kind)
    head = [["kind", clean(kind)], ["from", _origin(kind)]]
    head.insert(1, ["version", str(version) if version is not None else "not advertised"])
    yield from align(head)
    payload = SchemaText(schema)
    if payload.description():
        yield ""
        yield clean(payload.description())
    yield ""
    yield "payload"
    rows = [[clean(cell, _MAX_CELL) for cell in row] for row in payload.rows()]
    yield from align(rows, "  ") if rows else (f"  {clean(payload.type_text(), _MAX_CELL)}",)
    if rows and payload.is_open:
        yield "  others may be there too"
