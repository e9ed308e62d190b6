"""`weftwork kinds`: list and describe the envelope kinds that a host accepts from models."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import align, print_listing
from weftwork.cli.console.text import clean, say_document
from weftwork.cli.render.schema_text import SchemaText
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_MAX_CELL: Final = 120


@click.group(cls=CommandGroup)
def kinds() -> None:
    """List and describe the envelope kinds of a host.

    Works with any OpenWOP v1 host and needs no key. Kinds that are declared by a single workflow are not listed.
    """


@kinds.command()
@client_options
def ls(client: Client, as_json: bool) -> None:
    """List the envelope kinds that the host accepts.

    \b
    Example:
      weftwork kinds ls --url https://host.example
    """
    versions = _advertised(client)
    rows = [{"kind": name, "version": version, "origin": _origin(name)} for name, version in versions.items()]
    head = ("kind", "version", "origin")
    cells = (["" if row[each] is None else str(row[each]) for each in head] for row in rows)
    print_listing({"kinds": rows}, as_json, head, cells, ("kind",))


@kinds.command()
@click.argument("kind", metavar="KIND")
@client_options
def show(client: Client, as_json: bool, kind: str) -> None:
    """Describe the payload of an envelope kind. With --json, print its JSON Schema.

    \b
    Example:
      weftwork kinds show clarification.request
    """
    try:
        schema = client.get(path_for("getEnvelopeSchema", schemaFile=f"{kind}.schema.json"))
    except RequestRefused as refused:
        if refused.status != 404:
            raise
        hint = did_you_mean(kind, _advertised(client)) or "; `weftwork kinds ls` lists the kinds of the host."
        text = f"the host has no schema for the envelope kind {clean(kind, 100)}{clean(hint)}"
        raise click.ClickException(text) from None
    if not is_object(schema):
        raise click.ClickException(f"{client.url} sent a response that is not a JSON Schema; check --url.")
    say_document(schema, as_json, _kind_lines(client, kind, schema))


def _advertised(client: Client) -> dict[str, int | None]:
    """The kinds that the host advertises, with their versions, in the host's order."""
    answer = client.get(path_for("getCapabilities"))
    names: Any = answer.get("supportedEnvelopes") if is_object(answer) else None
    if not is_array(names):
        raise click.ClickException(
            f"{client.url} sent a response to {method_and_path('getCapabilities')} without `supportedEnvelopes`; check "
            "--url."
        )
    versions = as_object(answer.get("schemaVersions"))
    numbers = {name: versions.get(name) for name in names if isinstance(name, str)}
    return {name: number if isinstance(number, int) else None for name, number in numbers.items()}


def _origin(name: str) -> str:
    return "protocol" if name in UNIVERSAL_KINDS or name in DISPLAY_KINDS else "host"


def _kind_lines(client: Client, kind: str, schema: dict[str, Any]) -> Iterator[str]:
    version = _advertised(client).get(kind)
    version_text = str(version) if version is not None else "not advertised"
    yield from align([["kind", clean(kind)], ["version", version_text], ["origin", _origin(kind)]])
    payload = SchemaText(schema)
    if payload.description():
        yield ""
        yield clean(payload.description())
    yield ""
    yield "payload"
    rows = [[clean(cell, _MAX_CELL) for cell in row] for row in payload.rows()]
    yield from align(rows, "  ") if rows else (f"  {clean(payload.type_text(), _MAX_CELL)}",)
    if rows and payload.is_open:
        yield "  other members are allowed"
