"""The node type core.flow.map: runs a node type or a workflow once for each item of a list."""

from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import input_value, missing_input
from weftwork.adapters.nodes.flow.map_children import map_children
from weftwork.adapters.nodes.flow.map_items import DEFAULT_CONCURRENCY, MapItems
from weftwork.adapters.nodes.schemas import (
    Schema,
    any_value,
    closed_object,
    expression_string,
    fixed_ports,
    integer,
    keyed_object,
    name_string,
    path_id_string,
    port_schema,
    reference_notes,
    typed,
)
from weftwork.ports.node_outcome import Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import ABSENT, is_array
from weftwork.protocol.run.child_runs import SUB_WORKFLOW
from weftwork.protocol.workflow.node_types import NodeDeclaration

MAX_ITEMS: Final = 100_000
MAX_CONCURRENCY: Final = 64
MAX_OPEN_CHILDREN: Final = 1_000
"""Child runs that are open at a time; they need no memory while they wait for people."""


async def _map(call: NodeCall, context: NodeContext) -> NodeOutcome:
    items = input_value(call, "items")
    if items is ABSENT:
        return missing_input("items")
    if not is_array(items) or len(items) > MAX_ITEMS:
        message = f"What is to be mapped is not a list of at most {MAX_ITEMS} items."
        return Failed("node_config_invalid", message, retryable=False)
    if "workflowId" in call.config["body"]:
        return await map_children(call, context, items)
    return await MapItems(call, context, items).run()


def _check(config: dict[str, Any]) -> list[Violation]:
    body: dict[str, Any] = config["body"]
    whole_run = "workflowId" in body
    if whole_run is ("typeId" in body):
        what = "names a node type already; a body is one of the two" if whole_run else "must name typeId or workflowId"
        return [Violation("/body/workflowId" if whole_run else "/body", "not" if whole_run else "required", what)]
    if body.get("typeId") == SUB_WORKFLOW:
        return [Violation("/body/typeId", "not", "cannot be a body; name the workflow itself with body.workflowId")]
    surplus, what = ("config", "belongs to a node type") if whole_run else ("output", "belongs to a workflow")
    if surplus in body:
        return [Violation(f"/body/{surplus}", "not", f"{what}, and this body is none")]
    if not whole_run and config.get("concurrency", 1) > MAX_CONCURRENCY:
        return [Violation("/concurrency", "maximum", f"must be at most {MAX_CONCURRENCY} for a body with a typeId")]
    return []


def _port_value() -> Schema:
    """As in a definition, where `type` chooses the form; the two forms that make sense for one item."""
    chosen: dict[str, Schema] = {"type": {}}
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": ["static", "expression"], "description": "Which of the two it is."}},
        "allOf": [
            {
                "if": {"required": ["type"], "properties": {"type": {"const": "static"}}},
                "then": closed_object("value", **chosen, value=any_value("The same value for every item.")),
            },
            {
                "if": {"required": ["type"], "properties": {"type": {"const": "expression"}}},
                "then": closed_object(
                    "expression",
                    **chosen,
                    expression=expression_string("Evaluated for each item, which it knows as `item`."),
                ),
            },
        ],
    }


MAP_ID: Final = "core.flow.map"

EXCLUDED_BODIES: Final = [
    MAP_ID,
    "core.flow.iterator",
    "core.setVariable",
    "core.channelWrite",
    "core.log",
    "core.artifact.emit",
    "conformance.artifact.emit",
    "core.getVariable",
    "core.interrupt",
    "core.clarificationGate",
    "core.conversationGate",
    "core.approvalGate",
    "core.chat.approvalGate",
    "core.hitl.approval-request",
    "core.hitl.ask-user",
    "core.hitl.form-request",
    SUB_WORKFLOW,
    "core.orchestrator.supervisor",
    "core.dispatch",
    "core.conformance.mock-agent",
]
"""Maps, types that would only fail as a body, and one that reads what the definition does not show to be read."""

MAP_NODE: Final[NodeType] = WaitingNode(
    NodeDeclaration(
        MAP_ID,
        "Runs a node type or a workflow once for each item of a list.",
        instant=False,
        bodies=("/body",),
        inputs=port_schema(
            items=typed("array", "The items; wins over the config.", maxItems=MAX_ITEMS),
            input=any_value("The items, if neither the port `items` nor the config has them."),
        ),
        outputs=fixed_ports(
            results=typed("array", "What each item gave, in the order of the items."),
            count=typed("integer", "How many items there were."),
        ),
        config=closed_object(
            "body",
            items=typed("array", "The items, if no port brings them.", maxItems=MAX_ITEMS),
            body={
                **closed_object(
                    typeId={
                        "type": "string",
                        "pattern": "^[a-z][a-zA-Z0-9._-]*$",
                        "maxLength": 256,
                        "not": {"enum": [each for each in EXCLUDED_BODIES if each != SUB_WORKFLOW]},
                        "description": "The node type to run. A body has this or `workflowId`, which "
                        f"takes the place of `{SUB_WORKFLOW}`.",
                    },
                    config=typed("object", "Its config, the same for every item."),
                    inputs=keyed_object(
                        _port_value(),
                        "Input port or variable of the child -> value; without it, the port `input` or the "
                        "variable `item` gets the item.",
                        least=0,
                    ),
                    workflowId=path_id_string("The workflow to run, in a child run for each item."),
                    output=name_string(
                        "The variable of the child that is the result; without it, that is its outputs."
                    ),
                ),
                "description": "What is done with each item.",
            },
            concurrency=integer(
                1,
                MAX_OPEN_CHILDREN,
                f"So many items at a time; {MAX_CONCURRENCY} at most with a `typeId`.",
                default=DEFAULT_CONCURRENCY,
            ),
        ),
        expressions={"/body/inputs/*/expression": ("item", "index")},
        check_config=_check,
        notes=reference_notes(
            """
The items are the first of the port `items`, the config `items` and the port `input`; without any of them the node
fails with `node_input_missing`, and with `node_config_invalid` if they are no list. An item gives the output `output`
of the body, or all of its outputs by port if it has none of that name.

Each item is recorded when it is done. After a restart, items that were recorded are not run again. Items do not count
as node executions.

After an item that fails no more are begun; those that are under way end. Then the node fails with `map_item_failed`,
whose details hold the `index` of the item and the `code` it failed with. A body must not change the run
(`map_body_effect`) or wait for an answer (`map_body_suspended`); these are such codes too. Types that always do, and
maps, are refused with the definition. So is `core.getVariable`: an expression of the body's inputs can name the
variable.

With `workflowId` each item is a child run, as one of [core.subWorkflow](core.subWorkflow.md): `concurrency` of them are
open at a time, started in the order of the items, and nothing of the map is in memory while they work. The result of an
item is the variable `output` of its child, which is null if the child has no such variable, or the outputs of the child
by node id. After a child that fails or is cancelled, and after an item for which no child can be started, the map fails
at once with `map_item_failed`, and the children that are open are cancelled; its details hold the `index`, the `code`
and, if there is one, the `childRunId`. The map also fails so, with `child_output_hidden`, if a child keeps its result
hidden. Children are cancelled with the run. An attempt that is made after a failure starts with the first item again.

In expressions of the body, `item` is the item, `index` its place from 0 on, and `ports` holds the ports of the map
without the list.
""",
            MAP_ID,
            {
                "body": {
                    "typeId": "core.template",
                    "config": {"template": "{{ports.name}} is number {{ports.place}}"},
                    "inputs": {
                        "name": {"type": "expression", "expression": "item.name"},
                        "place": {"type": "expression", "expression": "index"},
                    },
                },
                "concurrency": 4,
            },
            {"items": {"type": "variable", "variableName": "people"}},
        ),
    ),
    _map,
)
