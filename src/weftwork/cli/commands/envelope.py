"""`weftwork envelope`: what the gate makes of an envelope and why, and the kinds that it knows."""

import os
import time
from collections.abc import Iterator
from typing import Any

import click

from weftwork.cli.client.options import json_option
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.table import colour, print_listing
from weftwork.cli.console.text import clean, say, say_json, say_lines
from weftwork.cli.render.definition_file import parse_definition, problem_line, read_definition
from weftwork.protocol.envelopes.gate import STEPS, explain
from weftwork.protocol.envelopes.gate_rules import EnvelopeContract, GateRules, GateStep
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, UNIVERSAL_KINDS, KindSet
from weftwork.protocol.envelopes.outcome import Accepted, EnvelopeOutcome, Invalid, outcome_document
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, fill_defaults
from weftwork.protocol.privacy.secret_matcher import SecretMatcher
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.envelope_kinds import load_kinds

_kinds = click.option(
    "--envelope-kinds",
    metavar="PATH",
    multiple=True,
    help="Know the kinds whose schemas are in PATH too, a folder or a file. Repeatable.",
)


@click.group(cls=CommandGroup)
def envelope() -> None:
    """Explain what becomes of an envelope that a model sends, and list the kinds there are.

    No host is needed: the judgement is the function that hosts judge with, and these commands call it themselves.
    """


@envelope.command()
@click.argument("file", metavar="FILE")
@_kinds
@click.option(
    "--supported", metavar="KIND", multiple=True, help="A kind that the host takes. Repeatable.  [default: any]"
)
@click.option(
    "--node-accepts", metavar="KIND", multiple=True, help="A kind that the node takes. Repeatable.  [default: any]"
)
@click.option("--strict", is_flag=True, help="Refuse what was written for an older version of its kind.")
@click.option("--approval", is_flag=True, help="Judge it as what is to advance an approval.")
@click.option("--untrusted", is_flag=True, help="Content from outside went into the turn.")
@click.option(
    "--secret",
    "secrets",
    metavar="ID=VARIABLE",
    multiple=True,
    help="A secret by its id, with its value in that environment variable. Repeatable.",
)
@click.option("--fill", is_flag=True, help="Fill in first what a run fills in: ids, origin, time and trust.")
@click.option("--payload", "with_payload", is_flag=True, help="Print the payload of an accepted one, without secrets.")
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
    """Say step by step what the gate decides about the envelope in FILE, and why.

    FILE may be - for standard input. Exits with 0 if the envelope is accepted, with 1 if it is refused or no JSON, and
    with 2 if FILE cannot be read. Nothing of its payload is printed, unless --payload asks for it. Universal kinds are
    always taken and need not be named.

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
    verdict, said = explain(document, rules)
    if as_json:
        outcome = outcome_document(verdict.outcome)
        if not with_payload:
            outcome.pop("redactedPayload", None)
        steps = [{"step": each.step, "passed": each.passed, "note": each.note} for each in said]
        say_json({"steps": steps, "outcome": outcome})
    else:
        say_lines(_lines(verdict.outcome, said))
        if not fill and said[-1].step == "shape" and not said[-1].passed:
            say("a run fills in ids, origin and time itself; --fill does the same here.", err=True)
        if with_payload and isinstance(verdict.outcome, Accepted):
            say_json(verdict.outcome.payload)
    if not isinstance(verdict.outcome, Accepted):
        raise SystemExit(1)


@envelope.command()
@_kinds
@json_option
def kinds(envelope_kinds: tuple[str, ...], as_json: bool) -> None:
    """List the kinds of envelopes that come with the package, and those of --envelope-kinds.

    \b
    Example:
      weftwork envelope kinds --envelope-kinds kinds/
    """
    versions = _load_kinds(envelope_kinds).versions
    words = {
        **dict.fromkeys(UNIVERSAL_KINDS, "universal: always taken"),
        **dict.fromkeys(DISPLAY_KINDS, "of the protocol: checked"),
    }
    rows = [(name, version, words.get(name, "of others")) for name, version in versions.items()]
    listed = [{"kind": name, "version": version, "universal": name in UNIVERSAL_KINDS} for name, version, _ in rows]
    print_listing({"kinds": listed}, as_json, ("kind", "version", "what it is"), rows)


@envelope.command()
@click.argument("kind", metavar="KIND")
@_kinds
def schema(kind: str, envelope_kinds: tuple[str, ...]) -> None:
    """Print the JSON Schema of the payload of a kind, as hosts serve it.

    \b
    Example:
      weftwork envelope schema clarification.request
    """
    found = _load_kinds(envelope_kinds).find(kind)
    if found is None:
        text = f"there is no kind {clean(kind, 100)}; `weftwork envelope kinds` lists what there is."
        raise click.ClickException(text)
    say_json(found.schema)


def _load_kinds(paths: tuple[str, ...]) -> "KindSet":
    try:
        return load_kinds(Settings(envelope_kinds=paths))
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def _secret_matcher(secrets: tuple[str, ...]) -> "SecretMatcher | None":
    if not secrets:
        return None
    copies = SecretMatcher()
    for each in secrets:
        name, _, variable = each.partition("=")
        if not name or not variable:
            raise click.UsageError("--secret takes an id and the name of an environment variable: ID=VARIABLE.")
        value = os.environ.get(variable)
        if not value:
            raise click.UsageError(f"--secret: there is nothing in the environment variable {clean(variable, 100)}.")
        copies.learn_secret(name, value)
    return copies


def _read(name: str) -> Any:
    try:
        document, problems = parse_definition(name, read_definition(name))
    except OSError as error:
        # 1 is what a refusal exits with.
        raise click.UsageError(f"{clean(name)} cannot be read: {error.strerror}") from None
    if problems:
        raise click.ClickException(problem_line(problems[0]))
    return document


def _lines(outcome: "EnvelopeOutcome", said: "list[GateStep]") -> Iterator[str]:
    for step in said:
        state = "ok" if step.passed else "fail"
        mark = click.style(f"{state:<4}", fg=colour(state))
        yield f"{mark}  {step.step:<10}  {clean(step.note)}"
    # The first of them is what the step said.
    for each in outcome.details[1:] if isinstance(outcome, Invalid) else ():
        yield f"{'':16}  {clean(each.instance_path) or 'the document'} {clean(each.message)}"
    rest = [name for name, _ in STEPS[len(said) :]]
    if rest:
        yield f"not reached: {', '.join(rest)}"
    yield str(outcome_document(outcome)["status"])
