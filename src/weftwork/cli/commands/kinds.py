"""`weftwork kinds`: the kinds of envelopes that a host takes from models."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import align, print_listing
from weftwork.cli.console.text import clean, say_document, similar_names
from weftwork.cli.render.schema_text import SchemaText
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_MAX_CELL: Final = 120


@click.group(cls=CommandGroup)
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
    head = ("kind", "version", "from")
    cells = (["" if row[each] is None else str(row[each]) for each in head] for row in rows)
    print_listing({"kinds": rows}, as_json, head, cells, ("kind",))


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
        hint = similar_names(kind, _advertised(client), "kinds ls")
        raise click.ClickException(f"the host serves no schema of a kind {clean(kind, 100)}; {hint}.") from None
    if not is_object(schema):
        raise click.ClickException("the host's answer is no schema.")
    say_document(schema, as_json, _kind_lines(client, kind, schema))


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


def _kind_lines(client: Client, kind: str, schema: dict[str, Any]) -> Iterator[str]:
    version = _advertised(client).get(kind)
    known = str(version) if version is not None else "not advertised"
    yield from align([["kind", clean(kind)], ["version", known], ["from", _origin(kind)]])
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
