"""`weftwork workflows`: check definitions, draw them, and list what a host has."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from weftwork.cli.operator import Operator

_data = click.option("--data", metavar="DIR", help="The host's data folder.  [default: the user's data folder]")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_tenant = click.option("--tenant", default="default", show_default=True, help="The tenant whose workflows are meant.")


@click.group()
def workflows() -> None:
    """Check, draw and list workflow definitions."""


@workflows.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@_json
def validate(files: tuple[str, ...], as_json: bool) -> None:
    """Check definitions as a host would, without one.

    Prints a line for each problem, with file, line, column and JSON pointer, and exits with 1 if there is any. FILE
    may be - for standard input. Mistakes in the shape are found first, others once the shape is right.
    """
    found: list[dict[str, Any]] = []
    for name in files:
        summary, problems = _check(name)
        found += problems
        if not as_json:
            for each in problems:
                where = f"{_shown(name)}:{each['line']}:{each['column']}"
                _print(f"{where} {each['pointer'] or '/'}: {each['message']}")
            if not problems:
                _print(f"{_shown(name)}: ok ({summary})")
    if as_json:
        _print(json.dumps(found, indent=2))
    if found:
        raise SystemExit(1)


@workflows.command()
@click.argument("workflow_id", metavar="[ID]", required=False)
@click.option("--file", metavar="FILE", help="Draw the definition in this file instead; - is standard input.")
@click.option(
    "--format", "style", type=click.Choice(["text", "mermaid"]), default="text", show_default=True, help="How to draw."
)
@click.option("--version", metavar="VERSION", help="A registered version.  [default: the one that new runs take]")
@_tenant
@_data
@_json
def show(
    workflow_id: str | None,
    file: str | None,
    style: str,
    version: str | None,
    tenant: str,
    data: str | None,
    as_json: bool,
) -> None:
    """Draw a workflow of a host, or of a file.

    Asks the running host; without one, its store, which knows the workflows that were registered over HTTP and not
    those of folders. With --json the definition itself is printed.
    """
    if (workflow_id is None) == (file is None):
        raise click.UsageError("Name either a workflow of the host or a file with --file.")
    if file is not None:
        document = _read_shape(file)
    else:
        wanted = {"tenant": tenant, "workflow_id": workflow_id, "version": version}
        with Operator(data) as operator:
            document = _decoded(operator.ask("workflows.get", wanted)["definition"])
    _print(json.dumps(document, indent=2) if as_json else _drawn(document, style).rstrip("\n"))


@workflows.command("list")
@_tenant
@_data
@_json
def list_workflows(tenant: str, data: str | None, as_json: bool) -> None:
    """List the workflows that a tenant can start.

    Asks the running host; without one, its store, which knows the workflows that were registered over HTTP and not
    those of folders.
    """
    with Operator(data) as operator:
        found = list(_listed(operator, tenant))
    if as_json:
        _print(json.dumps({"workflows": found}, indent=2))
        return
    for row in found:
        _print("  ".join(_shown(row[member]) for member in ("id", "version", "from", "name")))


def _listed(operator: Operator, tenant: str) -> Iterator[dict[str, Any]]:
    after: str | None = None
    while True:
        answer = operator.ask("workflows.list", {"tenant": tenant, "after": after})
        yield from answer["workflows"]
        if not answer["more"]:
            return
        after = answer["workflows"][-1]["id"]


def _check(name: str) -> tuple[str, list[dict[str, Any]]]:
    """What there is in a good file, or what is wrong with a bad one."""
    # Imported late: `weftwork --help` needs none of it.
    from weftwork.app import declarations, node_types
    from weftwork.protocol.drawing_sketch import sketch, summary
    from weftwork.protocol.problem import find_problems

    try:
        document, problems = find_problems(_read(name), declarations(node_types()))
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        return "", [{"file": name, "line": 1, "column": 1, "pointer": "", "message": message}]
    if document is not None:
        return summary(sketch(document)), []
    places = ("line", "column", "pointer", "message")
    return "", [{"file": name, **{each: getattr(problem, each) for each in places}} for problem in problems]


def _read(name: str) -> bytes:
    """At most one byte more than a definition may have."""
    from weftwork.protocol.problem import MAX_DEFINITION_BYTES

    if name == "-":
        return sys.stdin.buffer.read(MAX_DEFINITION_BYTES + 1)
    with Path(name).open("rb") as file:
        return file.read(MAX_DEFINITION_BYTES + 1)


def _read_shape(name: str) -> dict[str, Any]:
    """A definition that can be drawn: its shape is right, whether or not this host could run it."""
    from weftwork.protocol.problem import check_shape

    try:
        document, problems = check_shape(_read(name))
    except OSError as error:
        raise click.ClickException(f"{_shown(name)} cannot be read: {error.strerror}") from None
    if document is None:
        first = problems[0]
        where = f"{_shown(name)}:{first.line}:{first.column} {first.pointer or '/'}"
        raise click.ClickException(f"{where}: {first.message}; `weftwork workflows validate` tells more.")
    return document


def _decoded(text: str) -> dict[str, Any]:
    from weftwork.protocol.decode import decode

    return decode(text.encode())


def _drawn(document: dict[str, Any], style: str) -> str:
    if style == "mermaid":
        from weftwork.protocol.drawing_mermaid import as_mermaid

        return as_mermaid(document)
    from weftwork.protocol.drawing import as_text

    return as_text(document)


def _shown(text: str) -> str:
    """Names may hold whatever a file system or a client lets through."""
    from weftwork.protocol.drawing_sketch import plain

    return plain(text, most=1024)


def _print(text: str) -> None:
    """Also where the terminal's encoding lacks a character."""
    encoding = sys.stdout.encoding
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
