"""`weftwork surface`: forms as A2UI messages, A2UI streams as forms, and what is wrong with either, without a host."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork import a2ui
from weftwork.cli.client.options import json_option
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.option_values import read_up_to
from weftwork.cli.console.text import clean, json_line, say, say_json, say_lines
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_object
from weftwork.protocol.surfaces.limits import check_limits

Json = dict[str, Any]
KIND: Final = "ui.a2ui-surface"
MAX_FILE: Final = 1_048_576
"""Bytes of a file. A surface within the limits of a host is smaller."""
DEFAULT_ID: Final = "surface-1"

_escape = click.option(
    "--escape",
    type=click.Choice(["markdown", "none"]),
    default="markdown",
    show_default=True,
    help="Whether body texts of A2UI are Markdown, or plain for a client without Markdown.",
)


@click.group(cls=CommandGroup)
def surface() -> None:
    """Convert forms to A2UI messages and back, and check them, without a host.

    A surface is the payload of an envelope of the kind ui.a2ui-surface. A2UI messages are those of A2UI 0.9.1, one per
    line.
    """


@surface.command()
@click.argument("file", metavar="FILE")
@click.option("--surface-id", metavar="ID", default=DEFAULT_ID, show_default=True, help="Id of the surface in A2UI.")
@click.option(
    "--catalog",
    type=click.Choice(["basic", "openwop"]),
    default="basic",
    show_default=True,
    help="Catalogue of components: of A2UI, which every client has, or of OpenWOP, which loses nothing.",
)
@click.option(
    "--a2ui-version", type=click.Choice(a2ui.VERSIONS), default="0.9.1", show_default=True, help="Version of A2UI."
)
@_escape
@click.option("--agent-name", metavar="NAME", help="Name of the agent that the client shows.")
@click.option("--untrusted", is_flag=True, help="State that the surface contains untrusted content.")
@click.option("--partial", is_flag=True, help="Export the surface as one that is still arriving: no button works.")
@json_option
def export(
    file: str,
    surface_id: str,
    catalog: Any,
    a2ui_version: Any,
    escape: Any,
    agent_name: str | None,
    untrusted: bool,
    partial: bool,
    as_json: bool,
) -> None:
    """Print the surface in FILE as A2UI messages, one per line.

    FILE has the payload of a surface, or a document with the member payload, such as an envelope; - is standard input.
    What a client shows differently is printed to standard error. With --json, the messages are one JSON array. Exits
    with 1 if FILE has no valid surface, and with 2 if it cannot be read.

    \b
    Example:
      weftwork surface export form.json > form.jsonl
    """
    document = _decode(file, _read(file))
    payload, problems = _check_payload(document)
    if payload is None:
        raise click.ClickException(f"{clean(file)}: {problems[0]}; `weftwork surface lint` lists all problems.")
    messages = a2ui.to_messages(
        payload,
        surface_id=surface_id,
        version=a2ui_version,
        catalog=catalog,
        escape=escape,
        agent_display_name=agent_name,
        content_trust="untrusted" if untrusted else None,
        partial=partial,
    )
    if as_json:
        say_json(messages)
    else:
        say_lines(map(json_line, messages))
    losses = a2ui.export_losses(payload, surface_id=surface_id, catalog=catalog, escape=escape)
    say_lines((_line(file, each.document(), True) for each in losses), err=True)


@surface.command("import")
@click.argument("file", metavar="FILE")
@click.option("--surface-id", metavar="ID", help="Id of the surface, if the messages build several.")
@_escape
@json_option
def import_(file: str, surface_id: str | None, escape: Any, as_json: bool) -> None:
    """Print the surface that the A2UI messages in FILE build, as the payload of a ui.a2ui-surface.

    FILE has one message per line, or a JSON array of messages; - is standard input. What is lost or refused is printed
    to standard error, with a JSON pointer into the list of messages. With --json, the output is an object with the
    payload, or null, and the diagnostics. Exits with 1 if the messages build no surface that a host accepts, and with 2
    if FILE cannot be read.

    \b
    Example:
      weftwork surface import stream.jsonl > form.json
    """
    messages = _decode_messages(file, _read(file))
    payload, diagnostics = a2ui.from_messages(messages, surface_id=surface_id, escape=escape)
    if as_json:
        say_json({"payload": payload, "diagnostics": [_row(each) for each in diagnostics]})
    else:
        say_lines((_line(file, each.document(), each.is_loss) for each in diagnostics), err=True)
        if payload is not None:
            say_json(payload)
    if payload is None:
        raise SystemExit(1)


@surface.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="Exit with 1 also for what is only lost.")
@_escape
@json_option
def lint(files: tuple[str, ...], strict: bool, escape: Any, as_json: bool) -> None:
    """Check surfaces, and files with A2UI messages.

    Prints a line for each problem: file, JSON pointer, message. A problem is an error, or a loss if the rest can be
    converted. Exits with 1 if there is an error, and with 2 if a file cannot be read. FILE may be - for standard input.

    \b
    Example:
      weftwork surface lint forms/*.json streams/*.jsonl
    """
    rows: list[Json] = []
    for file in files:
        found = list(_problems(file, _read(file), escape))
        rows += found
        if not as_json:
            say_lines(_line(each["file"], each, each["loss"]) for each in found)
            if not found:
                say(f"{clean(file)}: ok")
    if as_json:
        say_json(rows)
    if any(strict or not each["loss"] for each in rows):
        raise SystemExit(1)


def _problems(file: str, data: bytes, escape: Any) -> Iterator[Json]:
    """The problems of a surface or of messages, whichever the file has."""
    try:
        messages = a2ui.decode_messages(data)
    except ClientFault as fault:
        yield {"file": file, "path": "", "message": fault.message, "loss": False}
        return
    document: Any = messages[0] if len(messages) == 1 else None
    if is_object(document) and ("payload" in document or "surface" in document):
        payload, problems = _check_payload(document)
        for text in problems:
            path, _, message = text.partition(" ")
            yield {"file": file, "path": path, "message": message, "loss": False}
        if payload is not None:
            for each in a2ui.export_losses(payload, surface_id=DEFAULT_ID, escape=escape):
                yield _problem(file, each)
        return
    for each in a2ui.from_messages(messages, escape=escape)[1]:
        yield _problem(file, each)


def _check_payload(document: Any) -> tuple[Json | None, list[str]]:
    """The payload of a surface that a host accepts, or what is wrong with it: pointers and messages."""
    at = ""
    if is_object(document) and "payload" in document:
        document, at = document["payload"], "/payload"
    found = schema.check(f"envelopes/{KIND}", document)
    found = found or check_limits(document)
    if found:
        return None, [f"{at}{each.pointer or ('' if at else '/')} {each.message}" for each in found]
    return document, []


def _read(file: str) -> bytes:
    try:
        data = read_up_to(file, MAX_FILE)
    except OSError as error:
        # UsageError exits with 2; exit code 1 means that the content was refused.
        raise click.UsageError(f"{clean(file)} cannot be read: {error.strerror}") from None
    if len(data) > MAX_FILE:
        raise click.ClickException(f"{clean(file)} has more than {MAX_FILE} bytes; a surface has at most a few.")
    return data


def _decode(file: str, data: bytes) -> Any:
    messages = _decode_messages(file, data)
    if len(messages) == 1:
        return messages[0]
    hint = "expected one surface, not several documents; `weftwork surface import` reads A2UI messages."
    raise click.ClickException(f"{clean(file)}: {hint}")


def _decode_messages(file: str, data: bytes) -> list[Any]:
    try:
        return a2ui.decode_messages(data)
    except ClientFault as fault:
        raise click.ClickException(f"{clean(file)}: {fault.message}") from None


def _row(diagnostic: a2ui.Diagnostic) -> Json:
    return {**diagnostic.document(), "loss": diagnostic.is_loss}


def _problem(file: str, diagnostic: a2ui.Diagnostic) -> Json:
    return {"file": file, "path": diagnostic.path, "message": diagnostic.message, "loss": diagnostic.is_loss}


def _line(file: str, row: Json, is_loss: bool) -> str:
    """FILE: POINTER: loss or error: MESSAGE."""
    mark = click.style("loss", fg="yellow") if is_loss else click.style("error", fg="red")
    return f"{clean(file)}: {clean(row['path']) or '/'}: {mark}: {clean(row['message'])}"
