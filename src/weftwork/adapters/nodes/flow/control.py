"""Node types for control flow: no-op, failure, delay, markers, merge, branches and loops."""

from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import evaluate, input_value
from weftwork.adapters.nodes.schemas import instant_node, waiting_node
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, WriteChannel
from weftwork.ports.nodes import Arrival, NodeCall, NodeContext, NodeType
from weftwork.protocol.json.canonical import encode_canonical
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.timed_waits import MAX_DELAY_MS, MAX_INSTANT_MS, ZONED_PATTERN, delay_end, wait_end

MAX_TIMES: Final = 1_000_000
_MESSAGE_TIMESTAMP: Final = "2026-01-01T00:00:00.000Z"
"""Fixed, because an instant node has no clock, and so that equal runs write equal messages."""


def duplicate_messages() -> tuple[WriteChannel, ...]:
    """Three writes of two messages: the second message is written twice, and the reducer `message` keeps it once."""
    texts = {"msg-1": "The first message.", "msg-2": "The second message."}
    return tuple(
        WriteChannel(
            "messages",
            {"messageId": each, "role": "assistant", "content": texts[each], "timestamp": _MESSAGE_TIMESTAMP},
            "message",
        )
        for each in ("msg-1", "msg-2", "msg-2")
    )


DEFAULT_FAIL_CODE: Final = "conformance_test_failure"
DEFAULT_FAIL_MESSAGE: Final = "Intentional conformance failure"


def _delay_schema(description: str) -> dict[str, Any]:
    return schemas.typed("number", description, minimum=0, maximum=MAX_DELAY_MS)


@instant_node(
    "core.noop",
    "Does nothing and completes.",
    config=schemas.typed("object", "The node ignores its config."),
    notes="""
The node accepts any inputs and returns no outputs.
""",
    example_config={},
)
def _noop(call: NodeCall) -> NodeOutcome:
    return Completed({})


@instant_node(
    "core.identity",
    "Returns each input as an output of the same name.",
    config=schemas.closed_object(
        emitDuplicateMessageId=schemas.typed(
            "boolean",
            "For conformance tests: the node also writes two messages to the channel `messages`, the second one twice.",
            default=False,
        )
    ),
    example_config={},
    example_inputs={"greeting": {"type": "static", "value": "hello"}},
)
def _identity(call: NodeCall) -> NodeOutcome:
    return Completed(call.inputs, duplicate_messages() if call.config.get("emitDuplicateMessageId") else ())


@instant_node(
    "core.fail",
    "Fails with the configured code and message.",
    config=schemas.closed_object(
        code=schemas.typed(
            "string", "The error code.", pattern="^[a-z][a-z0-9_]*$", maxLength=64, default=DEFAULT_FAIL_CODE
        ),
        message=schemas.name_string("The error message.", 1024, default=DEFAULT_FAIL_MESSAGE),
    ),
    notes="""
The failure is handled like that of any node: the retry settings of the node apply, and an edge with the trigger rule
`any_failed` can handle it.
""",
    example_config={"code": "out_of_stock", "message": "The article is out of stock."},
)
def _fail(call: NodeCall) -> NodeOutcome:
    config = call.config
    return Failed(config.get("code", DEFAULT_FAIL_CODE), config.get("message", DEFAULT_FAIL_MESSAGE))


@waiting_node(
    "core.delay",
    "Waits for a number of milliseconds, then completes.",
    inputs=schemas.port_schema(delayMs=_delay_schema("The delay in milliseconds. Overrides the config.")),
    config=schemas.closed_object(
        delayMs=_delay_schema("The delay in milliseconds."),
        ms=_delay_schema("Another name for `delayMs`, used if that is absent."),
        durationMs=_delay_schema("Another name for `delayMs`, used if `delayMs` and `ms` are absent."),
    ),
    notes="""
The node uses the first of these that is present: the input `delayMs`, then the config members `delayMs`, `ms` and
`durationMs`. Without any of them it fails with `node_input_missing`. The delay counts from the start of the node and
continues while the host is down: after a restart the node waits only for the rest. [Setting the system clock
back](../../operate/sqlite.md#clock-changes) does not lengthen it. The node returns no outputs. To wait until a point in
time, use [core.wait](core.wait.md).

A run that only waits for delays of more than a second is not kept in memory and does not count as a live run.
""",
    example_config={"delayMs": 1000},
    wait_end=delay_end,
)
async def _delay(call: NodeCall, context: NodeContext) -> NodeOutcome:
    end = context.long_wait_end or delay_end(call.inputs, call.config, context.started_at)
    if end is None:
        return Failed("node_input_missing", "The node has no delay: set the input delayMs or the config delayMs.")
    await context.sleep_until(end)
    return Completed({})


def _pass_inputs(call: NodeCall) -> NodeOutcome:
    """Return the inputs as outputs, and `input` also as `output`, the source of edges that name no ports."""
    inputs = call.inputs
    return Completed({"output": inputs["input"], **inputs} if "input" in inputs else inputs)


@instant_node(
    "core.merge",
    "Combines the values of several branches into one value.",
    gathers_edges=True,
    outputs=schemas.fixed_ports(output=schemas.any_value("The values of the incoming edges, combined as `mode` says.")),
    config=schemas.closed_object(
        mode=schemas.one_of(("object", "array", "first"), "How the values are combined.", default="object")
    ),
    notes="""
The node combines the values of all incoming edges, in the order of the graph. Skipped branches have no value. The
`inputs` of the node are ignored.

- `object`: an object with one member per value. The name of the member is the id of the node that the value comes from.
  Further values of the same node are named `<nodeId>.<targetInput>`, then `<nodeId>.<targetInput>.2` and so on.
- `array`: a list of the values.
- `first`: the first value. If there is no value, the node has no output.

The trigger rule of the incoming edges decides when the node starts. With `all_success` it waits for all branches, and
is skipped if one of them is skipped. With `none_failed` it runs with the branches that were not skipped.
""",
    example_config={"mode": "array"},
)
def _merge(call: NodeCall) -> NodeOutcome:
    mode = call.config.get("mode", "object")
    values = [arrival.value for arrival in call.arrivals]
    if mode == "first":
        return Completed({"output": values[0]} if values else {})
    if mode == "array":
        return Completed({"output": values})
    merged: dict[str, Any] = {}
    for arrival in call.arrivals:
        merged[_merge_key(merged, arrival)] = arrival.value
    return Completed({"output": merged})


def _merge_key(taken: dict[str, Any], arrival: Arrival) -> str:
    """A free member name: the id of the node, if that is taken with the port, and then with a number."""
    key = arrival.node_id if arrival.node_id not in taken else f"{arrival.node_id}.{arrival.port}"
    free, number = key, 2
    while free in taken:
        free, number = f"{key}.{number}", number + 1
    return free


_INPUT: Final = schemas.port_schema(input=schemas.any_value("The value that the chosen branch receives."))


@instant_node(
    "core.conditional",
    "Chooses one of two branches with a Boolean expression.",
    branching=True,
    inputs=_INPUT,
    outputs=schemas.fixed_ports(
        result=schemas.typed("boolean", "The value of the expression."),
        output=schemas.any_value("The input `input`, or `result` if there is no such input."),
        true=schemas.any_value("The same value as `output`. Present only if the result is true."),
        false=schemas.any_value("The same value as `output`. Present only if the result is false."),
    ),
    config=schemas.closed_object(
        "expression",
        expression=schemas.expression_string("The condition. Its value must be true or false."),
    ),
    expressions={"/expression": ()},
    notes="""
Edges from the outputs `true` and `false` begin the two branches; the branch that is not chosen is skipped. An edge from
`output` is followed in both cases. If the value of the expression is neither true nor false, the node fails with
`condition_not_boolean`.
""",
    example_config={"expression": "ports.input.total > 100.0"},
    example_inputs={"input": {"type": "variable", "variableName": "order"}},
)
def _conditional(call: NodeCall) -> NodeOutcome:
    result = evaluate(call, call.config["expression"])
    if not isinstance(result, bool):
        return _not_boolean("expression")
    value = _pass_through(call, result)
    return Completed({"result": result, "output": value, "true" if result else "false": value})


@instant_node(
    "core.switch",
    "Chooses one of several branches by the value of an expression.",
    branching=True,
    inputs=_INPUT,
    outputs=schemas.port_schema(
        value=schemas.any_value("The value of the expression."),
        output=schemas.any_value("The input `input`, or `value` if there is no such input."),
    ),
    config=schemas.closed_object(
        "expression",
        "cases",
        expression=schemas.expression_string("The expression whose value is compared with the cases."),
        cases=schemas.keyed_object(
            schemas.any_value("The value that selects this output."),
            "The cases: an output port and the value that selects it. A port cannot be named `value` or `output`.",
            "value",
            "output",
        ),
        default={
            **schemas.name_string("The output port that is used if no case matches."),
            "not": {"enum": ["value", "output"]},
        },
    ),
    expressions={"/expression": ()},
    notes="""
The output port of the matching case gets the same value as `output`; edges from the other cases are skipped. Values
are compared as JSON: `1` equals `1.0` but not `"1"`, and the order of members does not matter. If several cases match,
the node uses the first one by name; their order in the definition does not matter. If no case matches and there is no
`default`, the node fails with `switch_no_match`.
""",
    example_config={
        "expression": "ports.input.country",
        "cases": {"domestic": "CH", "neighbour": "DE"},
        "default": "abroad",
    },
    example_inputs={"input": {"type": "variable", "variableName": "order"}},
)
def _switch(call: NodeCall) -> NodeOutcome:
    value = evaluate(call, call.config["expression"])
    cases = call.config["cases"]
    canonical = encode_canonical(value)
    # Stored definitions have sorted members, so the only order that the cases have is that of their names.
    port = next((each for each in sorted(cases) if encode_canonical(cases[each]) == canonical), None)
    port = call.config.get("default") if port is None else port
    if port is None:
        message = "No case matches the value of the expression, and config default is not set."
        return Failed("switch_no_match", message, retryable=False)
    output = _pass_through(call, value)
    return Completed({"value": value, "output": output, port: output})


@instant_node(
    "core.loop",
    "Begins each round of a loop, or ends the loop.",
    branching=True,
    inputs=_INPUT,
    outputs=schemas.fixed_ports(
        iteration=schemas.typed("integer", "The number of rounds that the body has run so far."),
        body=schemas.any_value(
            "The input `input`, or `iteration` if there is no such input. Present only if another round begins."
        ),
        done=schemas.any_value("The same value as `body` would have. Present only if the loop ends."),
    ),
    config=schemas.closed_object(
        rules={"minProperties": 1},
        times=schemas.integer(0, MAX_TIMES, "The maximum number of rounds."),
        **{
            "while": schemas.expression_string(
                "The loop continues while this expression is true. `iteration` counts from 0."
            )
        },
    ),
    expressions={"/while": ("iteration",)},
    notes="""
An edge from the output `body` leads to the first node of the body, and an edge from the last node of the body leads
back to this node. An edge from `done` leads to the node after the loop. Set `sourceOutput` on every edge from this
node: the default, `output`, is not an output of a loop.

The config must have `times`, `while` or both. With both, the loop ends as soon as either of them ends it. `while` is
evaluated before each round; if its value is neither true nor false, the node fails with `condition_not_boolean`. The
rounds also count towards `maxLoopbackIterations` of the definition.
""",
    example_config={"times": 3, "while": "variables.state != 'ready'"},
)
def _loop(call: NodeCall) -> NodeOutcome:
    config, iteration = call.config, call.iteration
    again: Any = iteration < config.get("times", iteration + 1)
    if again and "while" in config:
        again = evaluate(call, config["while"], iteration=iteration)
        if not isinstance(again, bool):
            return _not_boolean("while")
    return Completed({"iteration": iteration, "body" if again else "done": _pass_through(call, iteration)})


def _not_boolean(member: str) -> Failed:
    message = f"The value of config {member} is neither true nor false; write an expression with a Boolean value."
    return Failed("condition_not_boolean", message, {"pointer": f"/config/{member}"}, retryable=False)


def _pass_through(call: NodeCall, fallback: Any) -> Any:
    """The value for the chosen branch: the input `input`, or else the value that the choice was based on."""
    return call.inputs.get("input", fallback)


_MILLISECONDS: Final = schemas.integer(0, MAX_INSTANT_MS, "Milliseconds since 1970-01-01T00:00:00Z.")


@waiting_node(
    "core.wait",
    "Waits until a point in time, then completes.",
    inputs=schemas.port_schema(
        until={
            "anyOf": [{"type": "string"}, _MILLISECONDS],
            "description": "The time, as ISO 8601 text or as milliseconds since 1970. Overrides the config.",
        }
    ),
    outputs=schemas.fixed_ports(until=schemas.typed("string", "The time in UTC.")),
    config=schemas.closed_object(
        until=schemas.typed("string", "The time in ISO 8601, with `Z` or an offset.", pattern=ZONED_PATTERN)
    ),
    notes="""
The time is the input `until`, else the config member `until`, else the input `input`; without any of them the node
fails with `node_input_missing`. If the value is not a valid time, the node fails with `wait_until_invalid`: for example
a time without an offset, before 1970, or on a day that the month does not have. If the time is in the past, the node
completes at once. The wait continues across a restart of the host. If the [system clock is set
back](../../operate/sqlite.md#clock-changes) during the wait, it ends after the time that was left. To wait for a
duration, use [core.delay](core.delay.md).

A run that only waits for times more than a second away is not kept in memory and does not count as a live run.
""",
    example_config={"until": "2027-01-01T09:00:00+01:00"},
    wait_end=wait_end,
)
async def _wait(call: NodeCall, context: NodeContext) -> NodeOutcome:
    when = context.long_wait_end or wait_end(call.inputs, call.config, context.started_at)
    if when is None:
        # Raises if there is no value at all.
        input_value(call, "until")
        return Failed(
            "wait_until_invalid",
            "The value of until is neither an ISO 8601 date and time with an offset nor milliseconds since 1970.",
            retryable=False,
        )
    await context.sleep_until(when)
    return Completed({"until": iso(when)})


def _marker(
    type_id: str,
    title: str,
    text: str,
    inputs: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
) -> NodeType:
    """A node type that only passes its inputs on; it makes the structure of a definition visible."""
    pass_through = "The node returns each input as an output of the same name, and `input` also as `output`."
    return instant_node(
        type_id,
        title,
        inputs=schemas.port_schema(input=schemas.any_value("The value for the nodes that follow.")),
        outputs=schemas.port_schema(output=schemas.any_value("The input `input`, if there is one.")),
        config=config or schemas.closed_object(),
        notes=f"{pass_through}\n{text}",
        example_config={},
        example_inputs=inputs or {},
    )(_pass_inputs)


BASIC_NODES: Final[tuple[NodeType, ...]] = (_noop, _identity, _fail, _delay)
FLOW_NODES: Final[tuple[NodeType, ...]] = (
    *BASIC_NODES,
    _marker(
        "core.start",
        "Marks the beginning of a workflow and passes its inputs on.",
        """
The node is optional: a run begins with all nodes that have no incoming edges.
""",
        {"order": {"type": "variable", "variableName": "order"}},
        schemas.typed("object", "The node ignores its config, which can describe how runs are started."),
    ),
    _marker(
        "core.end",
        "Marks the end of a workflow and passes its inputs on.",
        """
The node does not stop the run: other branches continue, and the run completes when no node is left to run. Its outputs
are part of the outputs of the run, like those of every node without outgoing edges.
""",
        {"total": {"type": "connection", "nodeId": "sum", "outputKey": "output"}},
    ),
    _marker(
        "core.parallel",
        "Marks the beginning of parallel branches and passes its inputs on.",
        """
Each outgoing edge begins a branch. The node is optional: nodes that do not depend on each other run in parallel anyway.
[core.merge](core.merge.md) combines the values of branches.
""",
    ),
    _merge,
    _conditional,
    _switch,
    _loop,
    _wait,
)
