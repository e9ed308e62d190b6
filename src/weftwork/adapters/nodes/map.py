"""The node type core.flow.map: runs another node type once for each item of a list."""

from typing import Final

from weftwork.adapters.nodes.map_items import CONCURRENCY, MapItems
from weftwork.adapters.nodes.reading import given, missing
from weftwork.adapters.nodes.shape import Schema, anything, by_name, closed, expression, fixed, notes, ports, whole
from weftwork.ports.nodes import (
    Failed,
    NodeCall,
    NodeContext,
    NodeType,
    Outcome,
    WaitingNode,
)
from weftwork.protocol.json_value import ABSENT, is_array
from weftwork.protocol.node_type import NodeDeclaration

MAX_ITEMS: Final = 100_000
MAX_CONCURRENCY: Final = 64


async def _map(call: NodeCall, context: NodeContext) -> Outcome:
    items = given(call, "items")
    if items is ABSENT:
        return missing("items")
    if not is_array(items) or len(items) > MAX_ITEMS:
        message = f"What is to be mapped is not a list of at most {MAX_ITEMS} items."
        return Failed("node_config_invalid", message, retryable=False)
    return await MapItems(call, context, items).run()


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
                "then": closed({**chosen, "value": anything("The same value for every item.")}, "value"),
            },
            {
                "if": {"required": ["type"], "properties": {"type": {"const": "expression"}}},
                "then": closed(
                    {**chosen, "expression": expression("Evaluated for each item, which it knows as `item`.")},
                    "expression",
                ),
            },
        ],
    }


MAP_ID: Final = "core.flow.map"

NO_BODIES: Final = [
    *(MAP_ID, "core.flow.iterator"),
    *("core.setVariable", "core.channelWrite", "core.log", "core.artifact.emit", "conformance.artifact.emit"),
    *("core.getVariable", "core.interrupt", "core.clarificationGate", "core.conversationGate"),
    *("core.approvalGate", "core.chat.approvalGate", "core.hitl.approval-request"),
    *("core.hitl.ask-user", "core.hitl.form-request"),
]
"""Maps, types that would only fail as a body, and one that reads what the definition does not show to be read."""

MAP: Final[tuple[NodeType, ...]] = (
    WaitingNode(
        NodeDeclaration(
            MAP_ID,
            "Runs a node type once for each item of a list.",
            instant=False,
            bodies=("/body",),
            inputs=ports(
                {
                    "items": {
                        "type": "array",
                        "maxItems": MAX_ITEMS,
                        "description": "The items; wins over the config.",
                    },
                    "input": anything("The items, if neither the port `items` nor the config has them."),
                }
            ),
            outputs=fixed(
                {
                    "results": {"type": "array", "description": "What each item gave, in the order of the items."},
                    "count": {"type": "integer", "description": "How many items there were."},
                }
            ),
            config=closed(
                {
                    "items": {
                        "type": "array",
                        "maxItems": MAX_ITEMS,
                        "description": "The items, if no port brings them.",
                    },
                    "body": {
                        **closed(
                            {
                                "typeId": {
                                    "type": "string",
                                    "pattern": "^[a-z][a-zA-Z0-9._-]*$",
                                    "maxLength": 256,
                                    "not": {"enum": NO_BODIES},
                                    "description": "The node type to run.",
                                },
                                "config": {"type": "object", "description": "Its config, the same for every item."},
                                "inputs": by_name(
                                    _port_value(),
                                    "Input port -> value; without it, the port `input` gets the item.",
                                    least=0,
                                ),
                                "workflowId": {
                                    "not": {},
                                    "description": "Refused: a body that is a workflow is not offered yet.",
                                },
                            },
                            "typeId",
                        ),
                        "description": "What is done with each item.",
                    },
                    "concurrency": {
                        **whole(1, MAX_CONCURRENCY, "So many items at a time."),
                        "default": CONCURRENCY,
                    },
                },
                "body",
            ),
            expressions={"/body/inputs/*/expression": ("item", "index")},
            notes=notes(
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
    ),
)
