"""`weftwork workflows`: check definition files, draw them, list what a host has, and register new ones.

A list comes from a host over HTTP with a key, or from the operator's own host through its admin socket or store.
"""

import json
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import click
from click.core import ParameterSource

from weftwork.cli.client.admin_session import AdminSession
from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_rows
from weftwork.cli.client.options import client_options, data_option, json_option, suggest_workflows
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.text import clean, say, say_json, say_lines
from weftwork.cli.console.units import format_time
from weftwork.cli.render import definition_file
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import method_and_path, path_for


@contextmanager
def open_workflow_source(
    client: Client, data: str | None, tenant: str
) -> "Generator[_HttpWorkflowSource | _AdminWorkflowSource]":
    """Over HTTP if the command, or its environment, names a host or a key; else as the operator."""
    source = click.get_current_context().get_parameter_source
    typed = {each for each in ("url", "key", "data", "tenant") if source(each) is ParameterSource.COMMANDLINE}
    by_folder = bool(typed & {"data", "tenant"})
    if by_folder and typed & {"url", "key"}:
        raise click.UsageError("Name a host with --url and --key, or a data folder with --data and --tenant.")
    if by_folder or {source("url"), source("key")} == {ParameterSource.DEFAULT}:
        with AdminSession(data) as operator:
            yield _AdminWorkflowSource(operator, tenant)
    else:
        yield _HttpWorkflowSource(client)


class _HttpWorkflowSource:
    """The workflows that a key may start: by id, each with workflowId, name, version and versions as far as known."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def all(self) -> Iterator[dict[str, Any]]:
        asked = method_and_path("listWorkflows")
        text = f"this host does not list workflows: {asked} is not part of every OpenWOP host"
        refusal = f"{text}. Name one: `weftwork workflows show ID`."
        rows = list_rows(self._client, "listWorkflows", "workflows", None, refusal)
        return (row for row, _ in rows if is_object(row))

    def get(self, workflow_id: str, version: str | None) -> Any:
        return self._client.get(path_for("getWorkflow", workflowId=workflow_id), version=version)


class _AdminWorkflowSource:
    """The same for any tenant, as the operator sees them."""

    def __init__(self, operator: AdminSession, tenant: str) -> None:
        self._operator = operator
        self._tenant = tenant

    def all(self) -> Iterator[dict[str, Any]]:
        after: str | None = None
        while True:
            answer = self._operator.request("workflows.list", {"tenant": self._tenant, "after": after})
            for row in answer["workflows"]:
                after = row.pop("id")
                yield {"workflowId": after, **row}
            if not answer["more"]:
                return

    def get(self, workflow_id: str, version: str | None) -> Any:
        wanted = {"tenant": self._tenant, "workflow_id": workflow_id, "version": version}
        return decode(self._operator.request("workflows.get", wanted)["definition"].encode())


_tenant = click.option(
    "--tenant", default="default", show_default=True, help="The tenant whose workflows are meant, without a key."
)


@click.group(cls=CommandGroup)
def workflows() -> None:
    """Check, draw, list and register workflow definitions.

    With --url or --key, or their variables WEFTWORK_URL and WEFTWORK_KEY, ls and show ask that host, which may be any
    OpenWOP host. Without them they ask as the operator does: through the socket in the data folder of a host on this
    machine, or its store, for any tenant.
    """


@workflows.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--nodes", metavar="MODULE", multiple=True, help="Know the nodes of this Python module too. Repeatable.")
@json_option
def validate(files: tuple[str, ...], nodes: tuple[str, ...], as_json: bool) -> None:
    """Check definitions as a host would, without one.

    Prints a line for each problem, with file, line, column and JSON pointer, and exits with 1 if there is any. FILE
    may be - for standard input. Mistakes in the shape are found first, others once the shape is right. The known node
    types are those of the package, of installed packages and of the modules named with --nodes, which are imported.

    \b
    Example:
      weftwork workflows validate --nodes acme.nodes flows/*.json
    """
    types = definition_file.load_node_types(nodes)
    found: definition_file.Problems = []
    for name in files:
        summary, problems = definition_file.check_definition(name, types)
        found += problems
        if not as_json:
            say_lines(map(definition_file.problem_line, problems))
            if not problems:
                say(f"{clean(name)}: ok ({summary})")
    if as_json:
        say_json(found)
    if found:
        raise SystemExit(1)


@workflows.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@client_options
def add(client: Client, as_json: bool, files: tuple[str, ...]) -> None:
    """Register definitions with a host, or new versions of them.

    FILE may be - for standard input. What the host does not take is printed as `validate` prints it; the other files
    are registered all the same, and the exit code is 1. The key needs the scope manifest:write. Registering the same
    content again changes nothing.

    \b
    Example:
      weftwork workflows add flows/greet.json flows/bill.json
    """
    added: list[Any] = []
    problems: definition_file.Problems = []
    for name in files:
        answer, found = _add(client, name)
        problems += found
        if not found:
            added.append(answer)
        if not as_json:
            say_lines(map(definition_file.problem_line, found))
            if not found:
                known = as_object(answer)
                since = format_time(known.get("createdAt"))
                words = f"workflow {clean(known.get('workflowId', '?'))}, version {clean(known.get('version', '?'))}"
                say(f"{clean(name)}: {words}, registered" + (f" {since} UTC" if since else ""))
    if as_json:
        say_json({"added": added, "problems": problems})
    if problems:
        raise SystemExit(1)


def _add(client: Client, name: str) -> tuple[Any, definition_file.Problems]:
    try:
        data = definition_file.read_definition(name)
    except OSError as error:
        return None, [definition_file.unreadable_problem(name, error)]
    document, problems = definition_file.parse_definition(name, data)
    if problems:
        return None, problems
    try:
        answer = client.post(path_for("registerWorkflow"), document, idempotency_key=str(uuid.uuid4()))
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            asked = method_and_path("registerWorkflow")
            text = f"this host takes no definitions: {asked} is not part of every OpenWOP host."
            raise click.ClickException(text) from None
        placed = definition_file.locate_problems(name, data, refused.message, refused.details)
        if not placed and refused.status in (400, 409, 413, 422):
            placed = definition_file.locate_problems(name, data, refused.message, {"pointer": ""})
        if not placed:
            raise
        return None, placed
    client.require_text(answer, "workflowId", "what it registered")
    return answer, []


@workflows.command()
@click.argument("workflow_id", metavar="[ID]", required=False, shell_complete=suggest_workflows)
@click.option("--file", metavar="FILE", help="Draw the definition in this file instead; - is standard input.")
@click.option(
    "--format", "style", type=click.Choice(["text", "mermaid"]), default="text", show_default=True, help="How to draw."
)
@click.option("--version", metavar="VERSION", help="A registered version.  [default: the one that new runs take]")
@_tenant
@data_option
@client_options
def show(
    client: Client,
    as_json: bool,
    workflow_id: str | None,
    file: str | None,
    style: str,
    version: str | None,
    tenant: str,
    data: str | None,
) -> None:
    """Draw a workflow of a host, or of a file.

    Without a running host and without a key, the store in the data folder is asked, which knows the workflows that
    were registered over HTTP and not those of folders. With --json the definition itself is printed.

    \b
    Examples:
      weftwork workflows show hello
      weftwork workflows show hello --url https://host.example --format mermaid
    """
    if (workflow_id is None) == (file is None):
        raise click.UsageError("Name either a workflow of the host or a file with --file.")
    if file is not None:
        try:
            document = definition_file.require_valid_shape(file, definition_file.read_definition(file))
        except OSError as error:
            raise click.ClickException(f"{clean(file)} cannot be read: {error.strerror}") from None
        say(json.dumps(document, indent=2) if as_json else _draw(document, style))
        return
    assert workflow_id is not None, "one of the two is there"
    with open_workflow_source(client, data, tenant) as catalog:
        found = catalog.get(workflow_id, version)
    if as_json:
        say_json(found)
        return
    text = json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")
    say(_draw(definition_file.require_valid_shape(workflow_id, text), style))


def _list(client: Client, as_json: bool, tenant: str, data: str | None) -> None:
    """List the workflows that can be started.

    Without a running host and without a key, the store in the data folder is asked, which knows the workflows that
    were registered over HTTP and not those of folders.

    \b
    Examples:
      weftwork workflows ls
      weftwork workflows ls --url https://host.example --json
    """
    with open_workflow_source(client, data, tenant) as catalog:
        found = list(catalog.all())
    members = ("workflowId", "version", "name")
    rows = ([str(row.get(each, "")) for each in members] for row in found)
    head = ("workflow", "version", "name")
    print_listing({"workflows": found}, as_json, head, rows, ("version", "name"), "There are no workflows.")


workflows.command("ls")(_tenant(data_option(client_options(_list))))


def _draw(document: dict[str, Any], style: str) -> str:
    # Imported late: `workflows ls` needs none of it.
    from weftwork.cli.render.drawing import draw_mermaid, draw_text

    return (draw_mermaid if style == "mermaid" else draw_text)(document).rstrip("\n")
