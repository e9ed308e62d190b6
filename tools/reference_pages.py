"""Writes the generated parts of the pages under docs/.

A page marks a part with `<!-- begin: NAME -->` and `<!-- end: NAME -->`. PARTS maps each name to the function that
generates the text between the two marks from the tables that the host itself uses. With --check the tool writes
nothing, lists the stale pages, and exits with 1 if there are any.
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
from weftwork.adapters.nodes.flow.map import EXCLUDED_BODIES
from weftwork.cli.main import main as command
from weftwork.protocol.errors import ERRORS, RUN_ERRORS, ClientFault, error_document
from weftwork.protocol.media.message_parts import PartError
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, TRANSITIONS, WAITING_STATUSES
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.v1.assets import ASSET_ROUTES
from weftwork.protocol.wire.v1.routes import ROUTES, SCOPES, UNOFFERED_PATHS
from weftwork.protocol.wire.v1.surfaces import SURFACE_ROUTES
from weftwork.protocol.workflow.plan import TRIGGER_RULES
from weftwork.wiring.node_types import builtin_node_types

PART = re.compile(r"(<!-- begin: ([a-z-]+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)
WIDTH = 100
CLI_PAGES = {
    "cli-run": ("run", "events"),
    "cli-runs": ("runs",),
    "cli-time-travel": ("runs fork", "runs import", "runs replay", "runs retry"),
    "cli-eval": ("eval",),
    "cli-bundle": ("bundle",),
    "cli-diff": ("diff",),
    "cli-history": ("history",),
    "cli-assets": ("assets",),
    "cli-answer": ("inbox", "answer"),
    "cli-keys": ("keys", "signing"),
    "cli-workflows": ("workflows", "nodes"),
    "cli-models": ("models",),
    "cli-envelope": ("envelope", "kinds"),
    "cli-surface": ("surface",),
    "cli-store": ("store",),
}
"""Commands whose help is on a separate page, by the name of the generated part."""

FORK_OPERATIONS = ("forkRun", "retryRun", "importRun", "diffRunOutcome")
"""Operations whose parameters are on the page of forks."""

SETTINGS_TEXT = {
    "host": "Address to listen on.",
    "port": "Port to listen on. With 0 the system chooses a free port.",
    "data": "Folder for the database, the lock file, the socket and assets. Created if it does not exist.",
    "store": "Where runs are stored: `sqlite`, a file in `data`; `memory`, which keeps nothing after exit and ignores "
    "`data`; or the URL of a [PostgreSQL database](../operate/postgres.md).",
    "store_schema": "Schema of a PostgreSQL store. Hosts with different schemas can share a database.",
    "store_connections": "Connections of the host to a PostgreSQL store. Four have a fixed purpose.",
    "migrate": "Create or migrate the [schema](../operate/postgres.md#upgrades) of a PostgreSQL store at the start. A "
    "store in a file is always migrated.",
    "workflows": "Folders whose `*.json` files are registered as workflows at start.",
    "nodes": "Python modules with [nodes](../how-to/write-a-node.md), from the current folder or the Python path.",
    "envelope_kinds": "Files `KIND.schema.json`, or folders with such files, that define "
    "[envelope kinds](../how-to/add-an-envelope-kind.md). Advertised.",
    "prompts": "Folders whose `*.json` files are [prompt templates](prompts.md).",
    "universal_kinds_in_prompts": "Tell models in every system prompt about the "
    "[universal kinds](model-answers.md#universal-kinds-in-prompts).",
    "model_script": "JSON or TOML file with the responses of the "
    "[scripted provider](../how-to/run-without-a-model.md#script-the-answers), which the host then has.",
    "local_model": "Run a [model on this machine](../how-to/use-your-own-model.md#a-local-model): the path of a GGUF "
    "file, or `smollm2`, the weights that `weftwork models fetch smollm2` stored. `--local-model` alone means "
    "`smollm2`.",
    "provider": "Classes or functions, as `MODULE:NAME`, that create "
    "[model providers](../how-to/write-a-provider.md). Found like `nodes`.",
    "model_substitution": "Allow the [fallback model](model-capabilities.md#fallback-models) of a node type to "
    "replace a model that lacks capabilities. Advertised.",
    "api_key": "API keys that are valid while this process runs, as `KEY=TENANT` or `KEY=TENANT:SCOPE+SCOPE`.",
    "conformance": "Register the conformance workflows of the package, and add the provider `mock`, whose model "
    "accepts images, audio and documents.",
    "surfaces": "Show [surfaces](../how-to/ask-with-a-form.md) to people. Advertised, as the envelope kind "
    "`ui.a2ui-surface`. If disabled, the host records surfaces without showing them, and no run waits for one.",
    "conversation": "Enable [conversations](nodes/core.conversationGate.md). Advertised. If disabled, workflows with a "
    "conversation are refused.",
    "test_seams": "Mount the [test endpoints](test-endpoints.md) below `/v1/host/sample/`.",
    "allow_private_network": "Allow [outbound requests](../operate/security.md#requests-to-others) to private "
    "networks, also over plain http and to any port.",
    "log_level": "Lowest level of log lines.",
    "max_node_executions": "Maximum number of node executions in one run. Advertised.",
    "max_run_duration_ms": "Time limit of a run in milliseconds; 0 means no limit. Advertised if set.",
    "max_run_state_bytes": "Maximum size of the values that a run [holds](../operate/limits.md#size-of-runs). Above "
    "it, nodes fail with `run_state_too_large`.",
    "max_run_log_bytes": "Maximum size of the event log of a run. Above it, the run fails with `run_log_too_large`.",
    "max_log_bytes_per_tenant": "Maximum total size of the event logs of a tenant; 0 means no limit. Above it, new "
    "runs are refused with 409, and running ones fail.",
    "max_request_body_bytes": "Maximum size of a request body, except uploads. Advertised.",
    "max_body_bytes_in_memory": (
        "Maximum total size of the [request bodies](../operate/limits.md#shared-limits) that are being received or "
        "processed; at least `max_request_body_bytes`. Above it, requests are refused with 503."
    ),
    "max_body_bytes_in_memory_per_key": "The same for one API key.",
    "reserved_share_percent": (
        "Part of a [shared limit](../operate/limits.md#shared-limits) that only tenants below their share can use."
    ),
    "max_parallel_nodes": "Maximum number of concurrent nodes in one run.",
    "shutdown_grace_seconds": "How long a host that is stopped waits for [effects in progress]"
    "(../operate/sqlite.md#shutdown) that must not happen twice. If there are none, it does not wait.",
    "max_live_runs": "Maximum number of [live runs](../operate/limits.md#concurrency-and-size): unfinished runs, "
    "except those that are paused or only wait. Above it, new runs are refused with 503.",
    "max_live_children": "Maximum number of concurrently executed child runs of one tenant. Further child runs wait.",
    "max_live_runs_per_tenant": "Maximum number of live runs of one tenant; 0 means no limit. Above it, new runs are "
    "refused with 429.",
    "max_nodes_per_tenant": "Maximum number of concurrent nodes of one tenant; 0 means no limit. Further nodes wait.",
    "max_loop_iterations": "Maximum number of supervisor decisions in one run. Advertised.",
    "max_expression_work": "Maximum work of all expressions in one execution of a node, in "
    "[units](expressions.md#limits). Applies to new runs.",
    "max_condition_work": "Maximum work of all conditions behind one node, in units of loop time. Applies to new runs.",
    "expression_workers": "Maximum number of processes that evaluate "
    "[long expressions](expressions.md#where-expressions-are-evaluated). They are started when they are needed.",
    "max_run_depth": "Maximum depth of [child runs](child-runs.md): the number of runs above a run.",
    "max_descendants": "Maximum number of runs below the top run of a tree.",
    "max_children_per_second": "Maximum number of child runs that a tenant creates per second; 0 means no limit. "
    "Above it, the nodes that create them wait.",
    "max_streams": "Maximum number of open streams and waiting polls. Above it, new ones are refused with 429.",
    "max_connections": "Maximum number of connections, or fewer if the process can open fewer files. Above it, new "
    "ones are refused with 503.",
    "max_workflows_per_tenant": "Maximum number of workflow versions that a tenant can register. Above it, a "
    "registration is refused with 409.",
    "max_node_threads": "Maximum number of synchronous node functions that run concurrently. Further ones wait.",
    "max_inline_media_bytes": "Maximum size of media inside an event, decoded; 0 allows none. Advertised.",
    "max_bytes_per_part": "Maximum size of one image, audio or document part of [model input](model-input.md). "
    "Advertised.",
    "max_upload_bytes": "Maximum size of an [upload](assets.md#upload).",
    "max_asset_bytes_per_tenant": "Maximum total size of the [assets](assets.md) of a tenant, of test and live keys "
    "together; 0 means no limit. Above it, uploads are refused with 413.",
    "upload_days": "Days that an upload is kept if no run refers to it.",
    "max_abandoned_threads": "Maximum number of threads that are still occupied by nodes that timed out or were "
    "cancelled. Above it, synchronous nodes fail with `node_threads_exhausted`.",
    "fetch_timeout_ms": "Time limit of an outbound request, including redirects. Advertised.",
    "fetch_max_bytes": "Maximum size of the response to an outbound request, decoded. Advertised.",
    "fetch_ports": "Ports that outbound requests can use.",
    "fetch_http": "Allow outbound requests over plain http, also to port 80.",
    "keepalive_seconds": "Interval of keep-alive comments in an idle event stream.",
    "retention_days": "Days after which an ended run is [deleted](../operate/retention.md); 0 keeps all runs.",
    "embed_origins": "Origins, like `https://shop.example`, of pages that may call the "
    "[surface of a signed link](../how-to/embed-a-form.md) from the browser. With `*`, every page.",
    "allowed_hosts": "Host names, without port, for which the host "
    "[answers requests](../operate/security.md#host-names), in addition to those in `public_url` and `media_url` and "
    "loopback names. If none of the three is set, or with `*`, every name.",
    "public_url": "Public address of the host, such as `https://flows.example.org`. "
    "[Links to interrupts](interrupts.md#hand-out-a-link) begin with it; without it they are paths.",
    "media_url": "Address at which [assets](assets.md) are read, if not `public_url`. URLs of assets begin with it.",
    "media_reach": "Which web pages can embed assets: those of the same origin, of the same site, or all.",
    "blobs": "Storage of asset bytes: empty for the folder `assets` in the data folder, or `s3://BUCKET/PREFIX`.",
    "interrupt_link_days": "Days that a link to an interrupt without a deadline is valid.",
}

SCOPES_TEXT = {
    "runs:debug": "[answers of models as they arrived](../operate/security.md#raw-answers-of-models), with `runs:read`",
    "approvals:delegate": "[answers and links in the name of other people](interrupts.md#whose-answer-it-is)",
    "approvals:override": "[overriding the approvers of a gate](interrupts.md#whose-answer-it-is)",
}
"""Scopes that no operation requires by itself."""
UNUSED_SCOPE = "nothing yet"

USED_ONLY_IN = {"run_terminal": "only in results of `bulkCancelRuns`"}
"""Error codes that the host uses only inside the body of a successful response."""


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
    """The waiting statuses of a run with the kinds of interrupts that cause them."""
    kinds = [
        (status, [code(kind) for kind, then in STATUS_BY_KIND.items() if then == status]) for status in WAITING_STATUSES
    ]
    return table(("status", "kinds of interrupts"), ([code(status), ", ".join(names)] for status, names in kinds))


def settings_table() -> str:
    options = {parameter.name: parameter.opts[0] for parameter in command.commands["serve"].params}
    rows: list[list[str]] = []
    for field in msgspec.structs.fields(settings.Settings):
        if field.name in settings.FILE_ONLY:
            continue
        option = code(options[field.name]) if field.name in options else "-"
        row = [code(field.name), option, code(f"WEFTWORK_{field.name.upper()}")]
        rows.append([*row, _default(field), _values(field), SETTINGS_TEXT[field.name]])
    return table(("setting", "option", "environment variable", "default", "values", "meaning"), rows)


def _default(field: Any) -> str:
    if field.name == "data":
        return "the user's data folder"
    if field.default in (True, False):
        return code(str(field.default).lower())
    if isinstance(field.default, tuple):
        return ", ".join(code(each) for each in field.default) or "none"
    return "none" if field.default == "" else code(field.default)


def _values(field: Any) -> str:
    if field.name in settings._RANGES:
        low, high = settings._RANGES[field.name]
        return f"{low:,} to {high:,}"
    choices = [choice for choice in get_args(field.type) if isinstance(choice, str)]
    if choices:
        return ", ".join(code(choice) for choice in choices)
    names = {bool: "`true`, `false`", str: "string", tuple[int, ...]: "list of ports"}
    return names.get(field.type, "list of strings")


ERROR_CALLS = (ClientFault.__name__, PartError.__name__, error_document.__name__)
"""Callables that make an error response from an error code, which is their first argument."""


def raised_codes(folder: Path) -> set[str]:
    """Every error code that the source passes as a constant to one of ERROR_CALLS."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in ERROR_CALLS and isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


def errors() -> str:
    raised = raised_codes(Path(settings.__file__).parent)
    rows = [
        [
            code(name),
            str(row.status),
            "yes" if row.retryable else "no",
            "yes" if name in raised else USED_ONLY_IN.get(name, "no"),
            row.when,
        ]
        for name, row in ERRORS.items()
    ]
    return table(("code", "status", "retryable", "used", "meaning"), rows)


def run_errors() -> str:
    return table(("code", "meaning"), ([code(name), text] for name, text in RUN_ERRORS.items()))


def cli(names: Iterable[str] = ()) -> str:
    """The help of these commands; without names, of all commands that have no separate page."""
    root = _context(command, "weftwork", None)
    names = tuple(names)
    elsewhere = {name for each in CLI_PAGES.values() for name in each} - {*names}
    rest = [name for name in command.list_commands(root) if name not in elsewhere]
    first = () if names else (_help(root),)
    return "\n".join([*first, *(text for name in names or rest for text in _helps_of(name, root, elsewhere))])


def _helps_of(path: str, root: click.Context, elsewhere: set[str]) -> Iterable[str]:
    """The help of the command at this path, such as `runs fork`."""
    one, context = command, root
    *groups, name = path.split()
    for group in groups:
        assert isinstance(one, click.Group)
        one = one.commands[group]
        context = _context(one, group, context)
    assert isinstance(one, click.Group)
    return _helps(one.commands[name], name, context, elsewhere)


def _context(one: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(
        one, parent, name, terminal_width=WIDTH, max_content_width=WIDTH, help_option_names=["-h", "--help"]
    )


def _help(context: click.Context) -> str:
    return f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"


def _helps(one: click.Command, name: str, parent: click.Context, elsewhere: set[str]) -> Iterable[str]:
    context = _context(one, name, parent)
    yield _help(context)
    if isinstance(one, click.Group):
        for child in one.list_commands(context):
            if not one.commands[child].hidden and f"{name} {child}" not in elsewhere:
                yield from _helps(one.commands[child], child, context, elsewhere)


def nodes() -> str:
    """Every node type with a link to its page, and the aliases."""
    types = builtin_node_types()
    rows = [
        [
            f"[{type_id}](nodes/{type_id}.md)",
            node.declaration.title,
            code(node.declaration.effect),
            code("instant" if node.declaration.instant else "waiting"),
            "yes" if type_id not in EXCLUDED_BODIES and not node.declaration.requires else "no",
        ]
        for type_id, node in types.items()
        if type_id not in ALIASES
    ]
    names = [[code(alias), f"[{meant}](nodes/{meant}.md)"] for alias, meant in ALIASES.items() if alias in types]
    listed = table(("node type", "description", "effect", "execution", "map body"), rows)
    return f"{listed}\n## Aliases\n\n{table(('alias', 'node type'), names)}"


def operations() -> str:
    """Two tables: the operations that every host has, and the test endpoints."""
    rows = {
        test_only: [
            [code(f"{one.method} {one.path}"), code(one.operation_id), _scope(one), one.summary]
            for one in ROUTES
            if one.test_only is test_only
        ]
        for test_only in (False, True)
    }
    head = ("request", "operation", "scope", "description")
    note = "[Test endpoints](test-endpoints.md), only with `--test-seams`:"
    return f"{table(head, rows[False])}\n{note}\n\n{table(head, rows[True])}"


def _scope(route: Route) -> str:
    return f"`{route.scope}`" if route.scope else "no key"


def parameters(page: str) -> str:
    """The parameters, bodies and statuses of the operations that this page describes."""
    parts: list[str] = []
    for route in ROUTES:
        if page != _page_of(route):
            continue
        rows = [[code(one.name), one.location, _range(one.schema), one.description] for one in route.params]
        statuses = " or ".join(map(str, (route.success_status, *route.other_success_statuses)))
        access = f"Scope: {_scope(route)}." if route.scope else "No API key required."
        facts = [f"`{route.method} {route.path}`.", access, f"Returns {statuses}."]
        if route.request:
            facts.append(f"Request schema: `{route.request}`.")
        if route.response:
            facts.append(f"Response schema: `{route.response}`.")
        body = "\n" + table(("parameter", "in", "values", "meaning"), rows) if rows else ""
        parts.append(f"## {route.operation_id}\n\n{' '.join(facts)}\n{body}")
    return "\n".join(parts)


def _page_of(route: Route) -> str:
    if route.test_only:
        return "test-endpoints"
    if route.operation_id in FORK_OPERATIONS:
        return "forks"
    return "assets" if route in ASSET_ROUTES else "surfaces" if route in SURFACE_ROUTES else "parameters"


def _range(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return ", ".join(code(value) for value in shape["enum"])
    if "minimum" in shape:
        low = f"{shape['minimum']:,}"
        return f"{low} or more" if "maximum" not in shape else f"{low} to {shape['maximum']:,}"
    return f"up to {shape['maxLength']:,} characters" if "maxLength" in shape else "string"


def scopes() -> str:
    allowed = {scope: ", ".join(code(one.operation_id) for one in ROUTES if one.scope == scope) for scope in SCOPES}
    rows = ([code(name), found or SCOPES_TEXT.get(name, UNUSED_SCOPE)] for name, found in allowed.items())
    return table(("scope", "allows"), rows)


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
    "surface-parameters": partial(parameters, "surfaces"),
    "fork-parameters": partial(parameters, "forks"),
    "scopes": scopes,
    "unoffered": unoffered,
    "trigger-rules": trigger_rules,
}


def filled(text: str) -> str:
    """The page with every generated part up to date."""
    return PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]()}{part[3]}", text)


def main(arguments: list[str], root: Path) -> int:
    """Exit status: 0 if all pages are up to date or were written, 1 if --check finds a stale page."""
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
