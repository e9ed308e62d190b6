"""`weftwork nodes`: the node types that a host has, or that come with the package."""

import re
from typing import Any, Final

import click
from click.core import ParameterSource

from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_nodes
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.text import clean, say, say_document, similar_names
from weftwork.cli.render.node_type_details import node_type_lines
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_TEST_PREFIXES: Final = ("conformance.", "core.conformance.", "local.sample.")
"""Types that hosts have for those who test hosts."""
_ALIAS_TEXT: Final = re.compile(r"Same as `([^`]+)`\.")
_offline = click.option("--offline", is_flag=True, help="Ask no host: show the types that come with the package.")


@click.group(cls=CommandGroup)
def nodes() -> None:
    """List and explain the node types that definitions can use.

    Asks a weftwork host, which may have types of its own. Without --url, and if no host runs on this machine, the
    types that come with the package are shown.
    """


@nodes.command()
@_offline
@click.option("--all", "every", is_flag=True, help="List conformance.* and local.sample.* too, which are for tests.")
@client_options
def ls(client: Client, as_json: bool, offline: bool, every: bool) -> None:
    """List the node types.

    \b
    Examples:
      weftwork nodes ls --offline
      weftwork nodes ls --url https://host.example --json
    """
    known = _node_types(client, offline)
    found = [row for row in known if every or not str(row.get("typeId")).startswith(_TEST_PREFIXES)]
    members = ["typeId", "effect", "title"]
    if any(row.get("source") for row in found):
        members.insert(2, "source")
    head = ["type" if each == "typeId" else each for each in members]
    named = [{**row, "title": row["description"]} if _alias_target(row, known) else row for row in found]
    rows = ([str(row.get(each) or "") for each in members] for row in named)
    print_listing({"nodeTypes": found}, as_json, head, rows, ("source", "title"))


@nodes.command()
@click.argument("type_id", metavar="TYPE", shell_complete=suggest_nodes)
@_offline
@client_options
def show(client: Client, as_json: bool, type_id: str, offline: bool) -> None:
    """Show what a node type does, its ports and config, and a node of it as an example.

    \b
    Example:
      weftwork nodes show core.delay --offline
    """
    found = _node_types(client, offline)
    wanted = next((row for row in found if row.get("typeId") == type_id), None)
    if wanted is None:
        hint = similar_names(type_id, [str(row.get("typeId")) for row in found], "nodes ls")
        raise click.ClickException(f"there is no node type {clean(type_id, 100)}; {hint}.")
    shown = wanted
    if (meant := _alias_target(wanted, found)) is not None:
        shown = {**meant, "typeId": type_id, "title": f"{meant.get('title')} {wanted['description']}"}
    say_document(wanted, as_json, node_type_lines(shown))


def _node_types(client: Client, offline: bool) -> list[dict[str, Any]]:
    if offline:
        return _builtin_types()
    try:
        answer = client.get(path_for("listNodeTypes"))
    except HostUnreachable:
        if click.get_current_context().get_parameter_source("url") is not ParameterSource.DEFAULT:
            raise
        say(f"no host answers on {client.url}; these come with the package.", err=True)
        return _builtin_types()
    except RequestRefused as refused:
        if refused.status not in NOT_OFFERED:
            raise
        text = f"this host does not say which node types it has: {path_for('listNodeTypes')} is weftwork's own"
        raise click.ClickException(f"{text}. --offline shows the types that come with the package.") from None
    rows = answer.get("nodeTypes") if is_object(answer) else None
    if not is_array(rows):
        raise click.ClickException(
            f"the host's answer to {method_and_path('listNodeTypes')} is not a list of node types."
        )
    return [row for row in rows if is_object(row)]


def _builtin_types() -> list[dict[str, Any]]:
    """The built-in types, as a host would describe them."""
    from weftwork.protocol.workflow.node_types import describe_node_types
    from weftwork.wiring.node_types import builtin_node_types, declarations_by_type

    return describe_node_types(declarations_by_type(builtin_node_types()).values())


def _alias_target(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The type of which this is only another name."""
    said = _ALIAS_TEXT.fullmatch(str(row.get("description") or ""))
    return next((each for each in rows if each.get("typeId") == said[1]), None) if said else None
