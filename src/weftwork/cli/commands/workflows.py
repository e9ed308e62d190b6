"""`weftwork workflows`: validate and draw definition files, and list and register the workflows of a host.

Listings come from a host over HTTP with a key, or from the operator's own host through its admin socket or store.
"""

import json
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
from click.core import ParameterSource

from weftwork.cli.client.admin_session import AdminSession
from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_rows
from weftwork.cli.client.options import client_options, json_option, suggest_workflows
from weftwork.cli.client.store_location import StoreLocation, store_options
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
    client: Client, location: StoreLocation, tenant: str
) -> "Generator[_HttpWorkflowSource | _AdminWorkflowSource]":
    """HTTP if a URL or a key is given by option or environment, otherwise the operator's data folder."""
    source = click.get_current_context().get_parameter_source
    typed = {each for each in ("url", "key", "data", "store", "tenant") if source(each) is ParameterSource.COMMANDLINE}
    by_folder = bool(typed & {"data", "store", "tenant"})
    if by_folder and typed & {"url", "key"}:
        raise click.UsageError(
            "--url and --key cannot be combined with --data, --store and --tenant; use one of the two groups."
        )
    if by_folder or {source("url"), source("key")} == {ParameterSource.DEFAULT}:
        with AdminSession(location) as operator:
            yield _AdminWorkflowSource(operator, tenant)
    else:
        yield _HttpWorkflowSource(client)


class _HttpWorkflowSource:
    """The workflows that a key may start, in the order of their ids."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def all(self) -> Iterator[dict[str, Any]]:
        route = method_and_path("listWorkflows")
        text = f"this host does not list workflows: {route} is optional for OpenWOP hosts"
        refusal = f"{text}. Show a workflow by its id with `weftwork workflows show ID`."
        rows = list_rows(self._client, "listWorkflows", "workflows", None, refusal)
        return (row for row, _ in rows if is_object(row))

    def get(self, workflow_id: str, version: str | None) -> Any:
        return self._client.get(path_for("getWorkflow", workflowId=workflow_id), version=version)


class _AdminWorkflowSource:
    """The workflows of any tenant, from the admin socket or the store."""

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
        arguments = {"tenant": self._tenant, "workflow_id": workflow_id, "version": version}
        return decode(self._operator.request("workflows.get", arguments)["definition"].encode())


_NO_WORKFLOWS: Final = (
    "no workflows; register one with `weftwork workflows add FILE` or `weftwork serve --workflows DIR`."
)

_tenant = click.option(
    "--tenant", default="default", show_default=True, help="Tenant of the workflows, if no key is given."
)


@click.group(cls=CommandGroup)
def workflows() -> None:
    """Validate, draw, list and register workflow definitions.

    With --url or --key, or the variables WEFTWORK_URL and WEFTWORK_KEY, ls and show ask that host, which may be any
    OpenWOP host. Without them they read the data folder on this machine, for any tenant: through the admin socket of a
    running host, or from the store.
    """


@workflows.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--nodes", metavar="MODULE", multiple=True, help="Python module with additional node types. Repeatable.")
@json_option
def validate(files: tuple[str, ...], nodes: tuple[str, ...], as_json: bool) -> None:
    """Validate workflow definitions without a host.

    Prints one line per problem, with file, line, column and JSON pointer, and exits with 1 if there are any. FILE may
    be - for standard input. Other problems are reported only after the document matches the schema. Known node types
    are the built-in ones, those of installed packages, and those of the modules in --nodes, which are imported.

    \b
    Example:
      weftwork workflows validate --nodes acme.nodes flows/*.json
    """
    types = definition_file.load_node_types(nodes)
    all_problems: definition_file.Problems = []
    for name in files:
        summary, problems = definition_file.check_definition(name, types)
        all_problems += problems
        if not as_json:
            say_lines(map(definition_file.problem_line, problems))
            if not problems:
                say(f"{clean(name)}: ok ({summary})")
    if as_json:
        say_json(all_problems)
    if all_problems:
        raise SystemExit(1)


@workflows.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@client_options
def add(client: Client, as_json: bool, files: tuple[str, ...]) -> None:
    """Register workflow definitions, or new versions of them, with a host.

    FILE may be - for standard input. Problems are printed as by `validate`; the other files are still registered, and
    the exit code is 1. The key needs the scope manifest:write. Registering the same content again changes nothing.

    \b
    Example:
      weftwork workflows add flows/greet.json flows/bill.json
    """
    added: list[Any] = []
    problems: definition_file.Problems = []
    for name in files:
        answer, file_problems = _add(client, name)
        problems += file_problems
        if not file_problems:
            added.append(answer)
        if not as_json:
            say_lines(map(definition_file.problem_line, file_problems))
            if not file_problems:
                workflow = as_object(answer)
                created = format_time(workflow.get("createdAt"))
                name_and_version = (
                    f"workflow {clean(workflow.get('workflowId', '?'))}, version {clean(workflow.get('version', '?'))}"
                )
                say(f"{clean(name)}: {name_and_version}, registered" + (f" {created} UTC" if created else ""))
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
            route = method_and_path("registerWorkflow")
            text = f"this host does not accept definitions: {route} is optional for OpenWOP hosts."
            raise click.ClickException(text) from None
        located = definition_file.locate_problems(name, data, refused.message, refused.details)
        if not located and refused.status in (400, 409, 413, 422):
            located = definition_file.locate_problems(name, data, refused.message, {"pointer": ""})
        if not located:
            raise
        return None, located
    client.require_text(answer, "workflowId", "the workflow id")
    return answer, []


@workflows.command()
@click.argument("workflow_id", metavar="[ID]", required=False, shell_complete=suggest_workflows)
@click.option("--file", metavar="FILE", help="File with the definition to draw; - is standard input.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "mermaid"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option("--version", metavar="VERSION", help="Version of the workflow.  [default: the version for new runs]")
@_tenant
@store_options
@client_options
def show(
    client: Client,
    as_json: bool,
    workflow_id: str | None,
    file: str | None,
    style: str,
    version: str | None,
    tenant: str,
    location: StoreLocation,
) -> None:
    """Draw a workflow of a host, or of a file.

    Without a running host and without a key, the store in the data folder is read. It has the workflows that were
    registered over HTTP, but not those of `serve --workflows`. With --json the definition is printed instead.

    \b
    Examples:
      weftwork workflows show hello
      weftwork workflows show hello --url https://host.example --format mermaid
    """
    if (workflow_id is None) == (file is None):
        raise click.UsageError("pass either the id of a workflow or --file FILE.")
    if file is not None:
        try:
            document = definition_file.require_valid_shape(file, definition_file.read_definition(file))
        except OSError as error:
            raise click.ClickException(f"{clean(file)} cannot be read: {error.strerror}") from None
        say(json.dumps(document, indent=2) if as_json else _draw(document, style))
        return
    assert workflow_id is not None, "checked above"
    with open_workflow_source(client, location, tenant) as catalog:
        definition = catalog.get(workflow_id, version)
    if as_json:
        say_json(definition)
        return
    text = json.dumps(definition, ensure_ascii=False).encode("utf-8", "surrogatepass")
    say(_draw(definition_file.require_valid_shape(workflow_id, text), style))


def _list(client: Client, as_json: bool, tenant: str, location: StoreLocation) -> None:
    """List workflows.

    Without a running host and without a key, the store in the data folder is read. It has the workflows that were
    registered over HTTP, but not those of `serve --workflows`.

    \b
    Examples:
      weftwork workflows ls
      weftwork workflows ls --url https://host.example --json
    """
    with open_workflow_source(client, location, tenant) as catalog:
        listed = list(catalog.all())
    members = ("workflowId", "version", "name")
    rows = ([str(row.get(each, "")) for each in members] for row in listed)
    head = ("workflow", "version", "name")
    print_listing({"workflows": listed}, as_json, head, rows, ("version", "name"), _NO_WORKFLOWS)


workflows.command("ls")(_tenant(store_options(client_options(_list))))


def _draw(document: dict[str, Any], style: str) -> str:
    # Imported late: `workflows ls` does not need it.
    from weftwork.cli.render.drawing import draw_mermaid, draw_text

    return (draw_mermaid if style == "mermaid" else draw_text)(document).rstrip("\n")
