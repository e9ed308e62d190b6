"""`weftwork nodes`: list and describe the node types of a host, or the built-in ones."""

import re
from typing import Any, Final

import click
from click.core import ParameterSource

from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_nodes
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.text import clean, say, say_document
from weftwork.cli.render.node_type_details import node_type_lines
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_TEST_PREFIXES: Final = ("conformance.", "core.conformance.", "local.sample.")
"""Prefixes of node types that exist only for conformance tests."""
_ALIAS_TEXT: Final = re.compile(r"Same as `([^`]+)`\.")
_offline = click.option("--offline", is_flag=True, help="Show the built-in node types without asking a host.")


@click.group(cls=CommandGroup)
def nodes() -> None:
    """List and describe node types.

    Asks a weftwork host, which may have custom node types. Without --url, and if no host is running on this machine,
    the built-in node types are shown.
    """


@nodes.command()
@_offline
@click.option(
    "--all", "every", is_flag=True, help="Include the node types for tests: conformance.* and local.sample.*."
)
@client_options
def ls(client: Client, as_json: bool, offline: bool, every: bool) -> None:
    """List node types.

    \b
    Examples:
      weftwork nodes ls --offline
      weftwork nodes ls --url https://host.example --json
    """
    node_types = _node_types(client, offline)
    listed = [row for row in node_types if every or not str(row.get("typeId")).startswith(_TEST_PREFIXES)]
    members = ["typeId", "effect", "title"]
    if any(row.get("source") for row in listed):
        members.insert(2, "source")
    head = ["type" if each == "typeId" else each for each in members]
    titled = [{**row, "title": row["description"]} if _alias_target(row, node_types) else row for row in listed]
    rows = ([str(row.get(each) or "") for each in members] for row in titled)
    print_listing({"nodeTypes": listed}, as_json, head, rows, ("source", "title"))


@nodes.command()
@click.argument("type_id", metavar="TYPE", shell_complete=suggest_nodes)
@_offline
@client_options
def show(client: Client, as_json: bool, type_id: str, offline: bool) -> None:
    """Describe a node type: its ports, its config and an example.

    \b
    Example:
      weftwork nodes show core.delay --offline
    """
    node_types = _node_types(client, offline)
    node_type = next((row for row in node_types if row.get("typeId") == type_id), None)
    if node_type is None:
        names = [str(row.get("typeId")) for row in node_types]
        hint = did_you_mean(type_id, names) or "; `weftwork nodes ls` lists all node types."
        raise click.ClickException(f"unknown node type {clean(type_id, 100)}{clean(hint)}")
    shown = node_type
    if (target := _alias_target(node_type, node_types)) is not None:
        shown = {**target, "typeId": type_id, "title": f"{target.get('title')} {node_type['description']}"}
    say_document(node_type, as_json, node_type_lines(shown))


def _node_types(client: Client, offline: bool) -> list[dict[str, Any]]:
    if offline:
        return _builtin_types()
    try:
        answer = client.get(path_for("listNodeTypes"))
    except HostUnreachable:
        if click.get_current_context().get_parameter_source("url") is not ParameterSource.DEFAULT:
            raise
        say(f"no host is listening on {client.url}; showing the built-in node types.", err=True)
        return _builtin_types()
    except RequestRefused as refused:
        if refused.status not in NOT_OFFERED:
            raise
        text = f"this host does not list node types: {path_for('listNodeTypes')} is a weftwork extension"
        raise click.ClickException(f"{text}. Pass --offline to show the built-in ones.") from None
    rows = answer.get("nodeTypes") if is_object(answer) else None
    if not is_array(rows):
        raise click.ClickException(
            f"{client.url} sent a response to {method_and_path('listNodeTypes')} without node types; check --url."
        )
    return [row for row in rows if is_object(row)]


def _builtin_types() -> list[dict[str, Any]]:
    """The built-in types, as a host would describe them."""
    from weftwork.protocol.workflow.node_types import describe_node_types
    from weftwork.wiring.node_types import builtin_node_types, declarations_by_type

    return describe_node_types(declarations_by_type(builtin_node_types()).values())


def _alias_target(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The node type of which this one is an alias, or None."""
    match = _ALIAS_TEXT.fullmatch(str(row.get("description") or ""))
    return next((each for each in rows if each.get("typeId") == match[1]), None) if match else None
