"""Fills the generated parts of the pages under docs/; with --check it only says which pages are stale.

A page marks a part with `<!-- begin: NAME -->` and `<!-- end: NAME -->`. What stands between the two is made by the
function of that name below, from the tables that the host itself obeys.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from weftwork import settings
from weftwork.adapters.nodes.builtin import ALIASES
from weftwork.cli.main import main as command
from weftwork.protocol.errors import ERRORS, RUN_ERRORS, ClientFault, error_document
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, TRANSITIONS, WAITING_STATUSES
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.v1.assets import ASSET_ROUTES
from weftwork.protocol.wire.v1.routes import ROUTES, SCOPES, UNOFFERED_PATHS
from weftwork.protocol.workflow.plan import TRIGGER_RULES
from weftwork.wiring.node_types import builtin_node_types

PART = re.compile(r"(<!-- begin: ([a-z-]+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)
WIDTH = 100
CLI_PAGES = {
    "cli-run": ("run", "events"),
    "cli-runs": ("runs",),
    "cli-bundle": ("bundle",),
    "cli-assets": ("assets",),
    "cli-answer": ("inbox", "answer"),
    "cli-keys": ("keys", "signing"),
    "cli-workflows": ("workflows", "nodes"),
    "cli-envelope": ("envelope", "kinds"),
}
"""Commands whose help stands on a page of their own, by the part that holds it."""

SETTINGS_TEXT = {
    "host": "Address to listen on.",
    "port": "Port to listen on; 0 takes any free one.",
    "data": "Folder for the database, the lock and the socket. Made if missing.",
    "store": "Where runs live. `memory` keeps nothing after exit and ignores `data`.",
    "workflows": "Folders whose `*.json` files are registered at start.",
    "api_key": "Keys to accept while this process runs, as `KEY=TENANT` or `KEY=TENANT:SCOPE+SCOPE`.",
    "nodes": "Modules whose [nodes](../how-to/write-a-node.md) are offered, from the current folder or where Python "
    "looks.",
    "envelope_kinds": "Files `KIND.schema.json`, or folders with such, whose [kinds of "
    "envelopes](../how-to/add-an-envelope-kind.md) are taken; advertised.",
    "model_script": "File in JSON or TOML with what the [scripted "
    "provider](../how-to/run-without-a-model.md#script-the-answers) answers.",
    "prompts": "Folders whose `*.json` files are [prompt templates](prompts.md) that nodes can refer to.",
    "conformance": "Register the conformance workflows that come with the package.",
    "conversation": "Offer [conversations](nodes/core.conversationGate.md); advertised. Without them a workflow that "
    "holds one is refused.",
    "test_seams": "Mount the seams of the conformance suite below `/v1/host/sample/`.",
    "allow_private_network": "Let [requests to others](../operate/security.md#requests-to-others) reach private "
    "networks, by plain http too, on any port.",
    "log_level": "Least level of log lines.",
    "max_node_executions": "Most node executions of one run; advertised.",
    "max_run_duration_ms": "Longest run in milliseconds; 0 is no limit; advertised if set.",
    "max_request_body_bytes": "Largest request body; advertised.",
    "max_parallel_nodes": "Most nodes of one run that run at the same time.",
    "max_live_runs": "Most unfinished runs; beyond it a new run is answered with 503.",
    "max_live_runs_per_tenant": "Most unfinished runs of one tenant; beyond it a new run is answered with 429; 0: any.",
    "max_nodes_per_tenant": "Most nodes of one tenant that work at the same time; more wait for their turn; 0: any.",
    "max_live_children": "Most child runs of one tenant that are executed at the same time; more wait for their turn.",
    "max_loop_iterations": "Most decisions of the supervisors of one run; advertised.",
    "max_run_depth": "Most runs above a run: how deep child runs go.",
    "max_descendants": "Most runs below the one at the top of a tree.",
    "max_streams": "Most open streams and waiting polls; beyond it another one is answered with 429.",
    "max_node_threads": "Most plain functions of nodes that run at once; more wait for their turn.",
    "max_abandoned_threads": "Most threads held by nodes that were left behind; beyond it plain nodes fail at once.",
    "max_workflows_per_tenant": "Most workflows that a tenant may register, each version counted; beyond it 409.",
    "max_connections": "Most connections; less if the process may not open so many files; beyond it 503.",
    "fetch_timeout_ms": "Most time of a request to others, redirects included; advertised.",
    "fetch_max_bytes": "Largest answer to a request to others, decoded; advertised.",
    "fetch_ports": "Ports that requests to others may go to.",
    "fetch_http": "Let requests to others use plain http, to port 80 too.",
    "keepalive_seconds": "A quiet stream gets a comment line this often.",
    "retention_days": "Days after its end until a run is [deleted](../operate/retention.md); 0 keeps every run.",
    "public_url": "Where people reach the host, such as `https://flows.example.org`; [links to questions](interrupts.md"
    "#hand-out-a-link) begin with it. Without it they are paths.",
    "max_inline_media_bytes": "Largest media, decoded, that may stand in an event; advertised. 0: none may.",
    "max_bytes_per_part": "Largest image, sound or document that a model is shown; advertised.",
    "max_upload_bytes": "Largest [upload](assets.md#upload).",
    "max_asset_bytes_per_tenant": "Most bytes of [assets](assets.md) that a tenant may have; beyond it 413; 0: any.",
    "upload_days": "Days that an upload stays which no run refers to.",
    "media_url": "Where [assets](assets.md) are read, if not at `public_url`; their URLs begin with it.",
    "media_reach": "Whose pages may show assets: of the same origin, of the same site, or anybody's.",
    "blobs": "Where the bytes of assets are: empty for the folder `assets` of the data folder, or `s3://BUCKET/PREFIX`.",
    "interrupt_link_days": "Days that a link to a question lasts which has no deadline of its own.",
}


SCOPES_TEXT = {
    "approvals:delegate": "[answers and links for others](interrupts.md#whose-answer-it-is)",
    "approvals:override": "[overrides of gates](interrupts.md#whose-answer-it-is)",
}
"""Scopes that no operation needs by itself."""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in lines)


def code(text: object) -> str:
    return f"`{text}`"


def statuses() -> str:
    """The state machine of a run as a Mermaid diagram."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending"]
    lines += [f"    {status} --> {then}: {event}" for (status, event), then in TRANSITIONS.items()]
    for status in WAITING_STATUSES:
        lines.append(f"    running --> {status}: interrupt.requested")
        lines.append(f"    {status} --> running: interrupt.resolved")
    lines += [f"    {status} --> [*]" for status in STATUSES if status in TERMINAL_STATUSES]
    return "\n".join([*lines, "```", ""])


def waits() -> str:
    """What a run waits for, by the kinds of interrupts."""
    kinds = [
        (status, [code(kind) for kind, then in STATUS_BY_KIND.items() if then == status]) for status in WAITING_STATUSES
    ]
    return table(("status", "kinds of interrupts"), ([code(status), ", ".join(names)] for status, names in kinds))


def settings_table() -> str:
    options = {parameter.name: parameter.opts[0] for parameter in command.commands["serve"].params}
    rows: list[list[str]] = []
    for field in msgspec.structs.fields(settings.Settings):
        option = code(options[field.name]) if field.name in options else "-"
        row = [code(field.name), option, code(f"WEFTWORK_{field.name.upper()}")]
        rows.append([*row, _default(field), _values(field), SETTINGS_TEXT[field.name]])
    return table(("setting", "option", "environment", "default", "values", "meaning"), rows)


def _default(field: Any) -> str:
    if field.name == "data":
        return "the user's data folder"
    if field.default in (True, False):
        return code(str(field.default).lower())
    if isinstance(field.default, tuple):
        return ", ".join(code(each) for each in field.default) or "none"
    return code(field.default)


def _values(field: Any) -> str:
    if field.name in settings._RANGES:
        low, high = settings._RANGES[field.name]
        return f"{low} to {high}"
    choices = [choice for choice in get_args(field.type) if isinstance(choice, str)]
    if choices:
        return ", ".join(code(choice) for choice in choices)
    return {bool: "true or false", str: "text", tuple[int, ...]: "list of ports"}.get(field.type, "list of texts")


ANSWERS = (ClientFault.__name__, error_document.__name__)
"""What the host calls with an error code as first argument to answer with it."""


def raised_codes(folder: Path) -> set[str]:
    """Every error code that some line of the host can answer with."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in ANSWERS and isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


def errors() -> str:
    raised = raised_codes(Path(settings.__file__).parent)
    rows = [
        [
            code(name),
            str(row.status),
            "yes" if row.retryable else "no",
            "yes" if name in raised else "not yet",
            row.when,
        ]
        for name, row in ERRORS.items()
    ]
    return table(("code", "status", "retry can help", "in use", "meaning"), rows)


def run_errors() -> str:
    return table(("code", "meaning"), ([code(name), text] for name, text in RUN_ERRORS.items()))


def cli(names: Iterable[str] = ()) -> str:
    """The help of these commands, as it is printed on a wide terminal; without names, of all that have no page."""
    root = _context(command, "weftwork", None)
    elsewhere = {name for names in CLI_PAGES.values() for name in names}
    rest = [name for name in command.list_commands(root) if name not in elsewhere]
    first = () if names else (_help(root),)
    return "\n".join([*first, *(text for name in names or rest for text in _helps(command.commands[name], name, root))])


def _context(one: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(
        one, parent, name, terminal_width=WIDTH, max_content_width=WIDTH, help_option_names=["-h", "--help"]
    )


def _help(context: click.Context) -> str:
    return f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"


def _helps(one: click.Command, name: str, parent: click.Context) -> Iterable[str]:
    context = _context(one, name, parent)
    yield _help(context)
    if isinstance(one, click.Group):
        for child in one.list_commands(context):
            if not one.commands[child].hidden:
                yield from _helps(one.commands[child], child, context)


def nodes() -> str:
    """Every node type with its page, and the other names."""
    types = builtin_node_types()
    rows = [
        [
            f"[{type_id}](nodes/{type_id}.md)",
            node.declaration.title,
            code(node.declaration.effect),
            code("instant" if node.declaration.instant else "waiting"),
        ]
        for type_id, node in types.items()
        if type_id not in ALIASES
    ]
    names = [[code(alias), f"[{meant}](nodes/{meant}.md)"] for alias, meant in ALIASES.items() if alias in types]
    others = table(("other name", "node type"), names)
    return f"{table(('node type', 'what it does', 'effect', 'kind'), rows)}\n{others}"


def operations() -> str:
    rows = [[code(f"{one.method} {one.path}"), code(one.operation_id), _scope(one), one.summary] for one in ROUTES]
    return table(("request", "operation", "scope", "what it does"), rows)


def _scope(route: Route) -> str:
    return f"`{route.scope}`" if route.scope else "no key needed"


def parameters(page: str) -> str:
    """Of the operations that are told on that page."""
    parts: list[str] = []
    for route in ROUTES:
        if page != ("test-endpoints" if route.test_only else "assets" if route in ASSET_ROUTES else "parameters"):
            continue
        rows = [[code(one.name), one.location, _range(one.schema), one.description] for one in route.params]
        facts = [f"Answers {' or '.join(map(str, (route.success_status, *route.other_success_statuses)))}."]
        if route.request:
            facts.append(f"The body follows the schema `{route.request}`.")
        if route.response:
            facts.append(f"The answer follows the schema `{route.response}`.")
        body = "\n" + table(("parameter", "in", "values", "meaning"), rows) if rows else ""
        parts.append(f"## {route.operation_id}\n\n`{route.method} {route.path}`: {' '.join(facts)}\n{body}")
    return "\n".join(parts)


def _range(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return ", ".join(code(value) for value in shape["enum"])
    if "minimum" in shape:
        return f"{shape['minimum']} or more" if "maximum" not in shape else f"{shape['minimum']} to {shape['maximum']}"
    return f"up to {shape['maxLength']} characters" if "maxLength" in shape else "text"


def scopes() -> str:
    opens = {scope: ", ".join(code(one.operation_id) for one in ROUTES if one.scope == scope) for scope in SCOPES}
    rows = ([code(name), found or SCOPES_TEXT.get(name, "nothing yet")] for name, found in opens.items())
    return table(("scope", "opens"), rows)


def unoffered() -> str:
    return "".join(f"- `{path}`\n" for path in UNOFFERED_PATHS)


def trigger_rules() -> str:
    return table(("trigger rule", "the node runs when"), ([code(name), text] for name, text in TRIGGER_RULES.items()))


PARTS: dict[str, Callable[[], str]] = {
    "statuses": statuses,
    "waits": waits,
    "settings": settings_table,
    "errors": errors,
    "run-errors": run_errors,
    "cli": cli,
    **{part: partial(cli, names) for part, names in CLI_PAGES.items()},
    "nodes": nodes,
    "operations": operations,
    "parameters": partial(parameters, "parameters"),
    "test-endpoints": partial(parameters, "test-endpoints"),
    "asset-parameters": partial(parameters, "assets"),
    "scopes": scopes,
    "unoffered": unoffered,
    "trigger-rules": trigger_rules,
}


def filled(text: str) -> str:
    """The page with every generated part as it should be."""
    return PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]()}{part[3]}", text)


def main(arguments: list[str], root: Path) -> int:
    """Exit status: 0 when all pages are up to date, or have been written; 1 when --check finds a stale one."""
    stale = 0
    for page in sorted((root / "docs").rglob("*.md")):
        text = page.read_text("utf-8")
        wanted = filled(text)
        if wanted == text:
            continue
        if "--check" in arguments:
            sys.stderr.write(f"{page.relative_to(root)} is stale: run `make docs`\n")
            stale = 1
        else:
            page.write_text(wanted, "utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
