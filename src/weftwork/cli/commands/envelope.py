"""`weftwork envelope` explains how the gate judges an envelope, without a host; `weftwork kinds` asks a host for its
envelope kinds."""

import os
import time
from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, json_option
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import align, colour, print_listing
from weftwork.cli.console.text import clean, say, say_document, say_json, say_lines
from weftwork.cli.render.definition_file import parse_definition, problem_line, read_definition
from weftwork.cli.render.schema_text import SchemaText
from weftwork.protocol.envelopes.gate import STEPS, explain
from weftwork.protocol.envelopes.gate_rules import EnvelopeContract, GateRules, GateStep
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, UNIVERSAL_KINDS, KindSet
from weftwork.protocol.envelopes.outcome import Accepted, EnvelopeOutcome, Invalid, outcome_document
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, fill_defaults
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.privacy.secret_matcher import SecretMatcher
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.wire.v1.paths import method_and_path, path_for
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.envelope_kinds import load_kinds

_MAX_CELL: Final = 120

_kinds = click.option(
    "--envelope-kinds",
    metavar="PATH",
    multiple=True,
    help="Folder or file with the schemas of additional kinds. Repeatable.",
)


@click.group(cls=CommandGroup)
def envelope() -> None:
    """Check an envelope, and list the known envelope kinds, without a host.

    These commands call the same function that a host uses to validate the output of models.
    """


@envelope.command()
@click.argument("file", metavar="FILE")
@_kinds
@click.option(
    "--supported", metavar="KIND", multiple=True, help="Kind that the host accepts. Repeatable.  [default: all]"
)
@click.option(
    "--node-accepts", metavar="KIND", multiple=True, help="Kind that the node accepts. Repeatable.  [default: all]"
)
@click.option("--strict", is_flag=True, help="Refuse envelopes of an older version of their kind.")
@click.option("--approval", is_flag=True, help="Check the envelope as one that advances an approval.")
@click.option("--untrusted", is_flag=True, help="Treat the model turn as containing untrusted content.")
@click.option(
    "--secret",
    "secrets",
    metavar="ID=VARIABLE",
    multiple=True,
    help="Id of a secret, and the environment variable with its value. Repeatable.",
)
@click.option("--fill", is_flag=True, help="First add the members that a run adds: ids, origin, time and trust.")
@click.option(
    "--payload", "with_payload", is_flag=True, help="Print the payload of an accepted envelope, with secrets redacted."
)
@json_option
def accept(
    file: str,
    envelope_kinds: tuple[str, ...],
    supported: tuple[str, ...],
    node_accepts: tuple[str, ...],
    strict: bool,
    approval: bool,
    untrusted: bool,
    secrets: tuple[str, ...],
    fill: bool,
    with_payload: bool,
    as_json: bool,
) -> None:
    """Check the envelope in FILE and explain each step of the decision.

    FILE may be - for standard input. Exits with 0 if the envelope is accepted, with 1 if it is refused or not JSON, and
    with 2 if FILE cannot be read. The payload is printed only with --payload. Universal kinds are always accepted and
    need not be listed.

    \b
    Examples:
      weftwork envelope accept answer.json
      weftwork envelope accept - --node-accepts vendor.acme.plan --secret token=ACME_TOKEN < answer.json
    """
    rules = GateRules(
        _load_kinds(envelope_kinds),
        supported=frozenset(supported) if supported else None,
        contract=EnvelopeContract(frozenset(node_accepts) if node_accepts else None),
        strict=strict,
        secrets=_secret_matcher(secrets),
        trust="untrusted" if untrusted else None,
        advances_approval=approval,
    )
    document = _read(file)
    if fill:
        trust = "untrusted" if untrusted else "trusted"
        document = fill_defaults(document, EnvelopeOrigin("run", "node", "0", 0, int(time.time() * 1000), trust))
    verdict, steps = explain(document, rules)
    if as_json:
        outcome = outcome_document(verdict.outcome)
        if not with_payload:
            outcome.pop("redactedPayload", None)
        step_rows = [{"step": each.step, "passed": each.passed, "message": each.note} for each in steps]
        say_json({"steps": step_rows, "outcome": outcome})
    else:
        say_lines(_lines(verdict.outcome, steps))
        if not fill and steps[-1].step == "shape" and not steps[-1].passed:
            say("a run adds ids, origin and time by itself; use --fill to add them here.", err=True)
        if with_payload and isinstance(verdict.outcome, Accepted):
            say_json(verdict.outcome.payload)
    if not isinstance(verdict.outcome, Accepted):
        raise SystemExit(1)


@envelope.command("kinds")
@_kinds
@json_option
def builtin_kinds(envelope_kinds: tuple[str, ...], as_json: bool) -> None:
    """List the built-in envelope kinds and those of --envelope-kinds.

    \b
    Example:
      weftwork envelope kinds --envelope-kinds kinds/
    """
    versions = _load_kinds(envelope_kinds).versions
    origins = {
        **dict.fromkeys(UNIVERSAL_KINDS, "universal, always accepted"),
        **dict.fromkeys(DISPLAY_KINDS, "protocol"),
    }
    rows = [(name, version, origins.get(name, "custom")) for name, version in versions.items()]
    listed = [{"kind": name, "version": version, "universal": name in UNIVERSAL_KINDS} for name, version, _ in rows]
    print_listing({"kinds": listed}, as_json, ("kind", "version", "origin"), rows)


@envelope.command()
@click.argument("kind", metavar="KIND")
@_kinds
def schema(kind: str, envelope_kinds: tuple[str, ...]) -> None:
    """Print the JSON Schema of a kind's payload, as a host serves it.

    \b
    Example:
      weftwork envelope schema clarification.request
    """
    known = _load_kinds(envelope_kinds)
    entry = known.find(kind)
    if entry is None:
        hint = did_you_mean(kind, known.versions) or "; `weftwork envelope kinds` lists the known kinds."
        raise click.ClickException(f"unknown envelope kind {clean(kind, 100)}{clean(hint)}")
    say_json(entry.schema)


def _load_kinds(paths: tuple[str, ...]) -> "KindSet":
    try:
        return load_kinds(Settings(envelope_kinds=paths))
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def _secret_matcher(secrets: tuple[str, ...]) -> "SecretMatcher | None":
    if not secrets:
        return None
    matcher = SecretMatcher()
    for each in secrets:
        name, _, variable = each.partition("=")
        if not name or not variable:
            raise click.UsageError("--secret must have the form ID=VARIABLE, with the name of an environment variable.")
        value = os.environ.get(variable)
        if not value:
            raise click.UsageError(f"--secret {clean(name, 60)}: the variable {clean(variable, 100)} is not set.")
        matcher.learn_secret(name, value)
    return matcher


def _read(name: str) -> Any:
    try:
        document, problems = parse_definition(name, read_definition(name))
    except OSError as error:
        # UsageError exits with 2; exit code 1 means that the envelope was refused.
        raise click.UsageError(f"{clean(name)} cannot be read: {error.strerror}") from None
    if problems:
        raise click.ClickException(problem_line(problems[0]))
    return document


def _lines(outcome: "EnvelopeOutcome", steps: "list[GateStep]") -> Iterator[str]:
    for step in steps:
        state = "ok" if step.passed else "fail"
        mark = click.style(f"{state:<4}", fg=colour(state))
        yield f"{mark}  {step.step:<10}  {clean(step.note)}"
    # The first detail is the note of the failed step.
    for each in outcome.details[1:] if isinstance(outcome, Invalid) else ():
        yield f"{'':16}  {clean(each.instance_path) or 'the document'} {clean(each.message)}"
    rest = [name for name, _ in STEPS[len(steps) :]]
    if rest:
        yield f"skipped steps: {', '.join(rest)}"
    yield str(outcome_document(outcome)["status"])


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
