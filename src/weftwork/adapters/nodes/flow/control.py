"""Node types for control flow: those that do nothing, fail or wait, mark or join paths, and choose between edges."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import evaluate, input_value
from weftwork.adapters.nodes.schemas import instant_node, waiting_node
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, WriteChannel
from weftwork.ports.nodes import Arrival, NodeCall, NodeContext, NodeType
from weftwork.protocol.json.canonical import encode_canonical
from weftwork.protocol.timestamps import iso

MAX_TIMES: Final = 1_000_000
MAX_INSTANT_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z."""
_MESSAGE_TIMESTAMP: Final = "2026-01-01T00:00:00.000Z"
"""Fixed: a node that answers at once knows no time, and equal runs write equal messages."""


def duplicate_messages() -> tuple[WriteChannel, ...]:
    """Two messages, the second one written twice: what a channel with the reducer `message` keeps once."""
    texts = {"msg-1": "The first message.", "msg-2": "The second message."}
    return tuple(
        WriteChannel(
            "messages",
            {"messageId": each, "role": "assistant", "content": texts[each], "timestamp": _MESSAGE_TIMESTAMP},
            "message",
        )
        for each in ("msg-1", "msg-2", "msg-2")
    )


MAX_DELAY_MS: Final = 365 * 86_400_000
_DELAY_SCHEMA: Final[dict[str, Any]] = {"type": "number", "minimum": 0, "maximum": MAX_DELAY_MS}


@instant_node("core.noop", "Does nothing and completes.", config={"type": "object"})
def _noop(call: NodeCall) -> NodeOutcome:
    return Completed({})


@instant_node(
    "core.identity",
    "Gives each input back as the output of the same name.",
    config=schemas.closed_object(
        emitDuplicateMessageId=schemas.typed(
            "boolean", "For conformance: also write two messages to the channel messages, one twice."
        )
    ),
)
def _identity(call: NodeCall) -> NodeOutcome:
    return Completed(call.inputs, duplicate_messages() if call.config.get("emitDuplicateMessageId") else ())


@instant_node(
    "core.fail",
    "Fails with the configured code and message.",
    config=schemas.closed_object(
        code={"type": "string", "pattern": "^[a-z][a-z0-9_]*$", "maxLength": 64},
        message={"type": "string", "minLength": 1, "maxLength": 1024},
    ),
)
def _fail(call: NodeCall) -> NodeOutcome:
    code = call.config.get("code", "conformance_test_failure")
    return Failed(code, call.config.get("message", "Intentional conformance failure"))


@waiting_node(
    "core.delay",
    "Waits for a number of milliseconds, counted from its start, then completes.",
    inputs=schemas.port_schema(delayMs=_DELAY_SCHEMA),
    config=schemas.closed_object(delayMs=_DELAY_SCHEMA, ms=_DELAY_SCHEMA, durationMs=_DELAY_SCHEMA),
)
async def _delay(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """node-03 (OpenWOP fixtures): the first of inputs.delayMs, config.delayMs, config.ms, config.durationMs counts."""
    spellings = [call.inputs.get("delayMs"), *map(call.config.get, ("delayMs", "ms", "durationMs"))]
    length = next((value for value in spellings if value is not None), None)
    if length is None:
        return Failed("node_input_missing", "The node needs its length in milliseconds, as input or config delayMs.")
    await context.sleep_until(context.started_at + int(length))
    return Completed({})


def _pass_inputs(call: NodeCall) -> NodeOutcome:
    """Edges that name no ports lead from `output` to `input`; so that they carry on, `input` is given as both."""
    inputs = call.inputs
    return Completed({"output": inputs["input"], **inputs} if "input" in inputs else inputs)


@instant_node(
    "core.merge",
    "Brings branches together in one value.",
    gathers_edges=True,
    outputs=schemas.fixed_ports(output=schemas.any_value("What the edges brought, put together by the mode.")),
    config=schemas.closed_object(
        mode=schemas.one_of(("object", "array", "first"), "How the values are put together.", default="object")
    ),
    notes="""
Takes every value that an incoming edge brings, in the order of the graph; branches that were skipped bring none. What
the node's own `inputs` name is not looked at.

- `object`: an object by the id of the node each value comes from. Further values of the same node go under
  `<nodeId>.<targetInput>`, then under `<nodeId>.<targetInput>.2` and so on.
- `array`: a list of the values.
- `first`: the first value; no output at all if there is none.

When the node starts is decided by the trigger rule of its edges, as for any node: `all_success` waits for all
branches and is skipped with any of them, `none_failed` goes on with those that were not skipped.
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
    """The id of the node; with the port, and then a number, if that is taken. Nothing that arrived is lost."""
    key = arrival.node_id if arrival.node_id not in taken else f"{arrival.node_id}.{arrival.port}"
    free, number = key, 2
    while free in taken:
        free, number = f"{key}.{number}", number + 1
    return free


_INPUT: Final = schemas.port_schema(input=schemas.any_value("Handed on to the way that is chosen."))


@instant_node(
    "core.conditional",
    "Goes one of two ways, by an expression that is true or false.",
    branching=True,
    inputs=_INPUT,
    outputs=schemas.fixed_ports(
        result=schemas.typed("boolean", "The value of the expression."),
        output=schemas.any_value("The input `input`, or the result where there is none."),
        true=schemas.any_value("The same as `output`; given only if the result is true."),
        false=schemas.any_value("The same as `output`; given only if the result is false."),
    ),
    config=schemas.closed_object(
        "expression", expression=schemas.expression_string("Decides; its value is true or false.")
    ),
    expressions={"/expression": ()},
    notes="""
Edges from `true` and from `false` are the two ways; the way not taken is skipped. An edge from `output` is taken in
both cases. An expression with any other value fails the node with `condition_not_boolean`.
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
    "Goes one of many ways, by the value of an expression.",
    branching=True,
    inputs=_INPUT,
    outputs=schemas.port_schema(
        value=schemas.any_value("The value of the expression."),
        output=schemas.any_value("The input `input`, or the value where there is none."),
    ),
    config=schemas.closed_object(
        "expression",
        "cases",
        expression=schemas.expression_string("Its value is looked for among the cases."),
        cases=schemas.keyed_object(
            schemas.any_value("The value this port is chosen for."),
            "Output port -> value. Any name but `value` and `output`.",
            "value",
            "output",
        ),
        default={
            **schemas.name_string("The output port to choose if no case fits."),
            "not": {"enum": ["value", "output"]},
        },
    ),
    expressions={"/expression": ()},
    notes="""
The port of the case that equals the value gets the same value as `output`; edges from the other ports are skipped.
Values are equal as JSON: `1` and `1.0` are, `1` and `"1"` are not, and the order of members does not count. If
several cases are equal, the first by name is chosen, whatever their order in the document. Without a case that fits
and without `default` the node fails with `switch_no_match`.
""",
    example_config={
        "expression": "ports.input.country",
        "cases": {"domestic": "CH", "neighbour": "DE"},
        "default": "abroad",
    },
    example_inputs={"input": {"type": "variable", "variableName": "order"}},
)
def _switch(call: NodeCall) -> NodeOutcome:
    """Definitions are kept with their members sorted, so the order of cases can only be that of their names."""
    value = evaluate(call, call.config["expression"])
    cases = call.config["cases"]
    wanted = encode_canonical(value)
    port = next((each for each in sorted(cases) if encode_canonical(cases[each]) == wanted), None)
    port = call.config.get("default") if port is None else port
    if port is None:
        message = "No case equals the value of the expression, and there is no default."
        return Failed("switch_no_match", message, retryable=False)
    output = _pass_through(call, value)
    return Completed({"value": value, "output": output, port: output})


@instant_node(
    "core.loop",
    "The head of a loop: goes round, or is done.",
    branching=True,
    inputs=_INPUT,
    outputs=schemas.fixed_ports(
        iteration=schemas.typed("integer", "How often the body has run so far."),
        body=schemas.any_value("The input `input`, or the iteration; given only if the loop goes round."),
        done=schemas.any_value("The same; given only if the loop is done."),
    ),
    config=schemas.closed_object(
        rules={"minProperties": 1},
        times=schemas.integer(0, MAX_TIMES, "The body runs at most so often."),
        **{"while": schemas.expression_string("The body runs as long as this is true. `iteration` counts from 0.")},
    ),
    expressions={"/while": ("iteration",)},
    notes="""
An edge from `body` leads to the first node of the body, and an edge from the last one leads back here; an edge from
`done` leads on. Nothing should be joined to `output`. With `times` and `while` the loop is done as soon as one of
them says so. `while` is asked before each round, and a value that is neither true nor false fails the node with
`condition_not_boolean`. Rounds also count against the `maxLoopbackIterations` of the definition.
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
    message = f"The value of the {member} is neither true nor false."
    return Failed("condition_not_boolean", message, {"pointer": f"/config/{member}"}, retryable=False)


def _pass_through(call: NodeCall, instead: Any) -> Any:
    """What a node that only looks gives to the way it chose: its input, or what it looked at."""
    return call.inputs.get("input", instead)


_PATTERN: Final = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]"
    r"(:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
_INSTANT_TEXT: Final = re.compile(_PATTERN)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS: Final = schemas.integer(0, MAX_INSTANT_MS, "Milliseconds since 1970-01-01T00:00:00Z.")


@waiting_node(
    "core.wait",
    "Waits until an instant, then completes.",
    inputs=schemas.port_schema(
        until={
            "anyOf": [{"type": "string"}, _MILLISECONDS],
            "description": "The instant, as text or as milliseconds since 1970; wins over the config.",
        }
    ),
    outputs=schemas.fixed_ports(until=schemas.typed("string", "The instant in UTC.")),
    config=schemas.closed_object(
        until=schemas.typed("string", "The instant in ISO 8601, with `Z` or an offset.", pattern=_PATTERN)
    ),
    notes="""
An instant in the past completes at once. The instant is the first of the port `until`, the config `until` and the
port `input`; without any of them the node fails with `node_input_missing`, and with `wait_until_invalid` if it is no
instant, such as one without offset, before 1970 or on a day that the month does not have. It holds over a restart of
the host. For a length of time there is `core.delay`.
""",
    example_config={"until": "2027-01-01T09:00:00+01:00"},
)
async def _wait(call: NodeCall, context: NodeContext) -> NodeOutcome:
    until = input_value(call, "until")
    when = parse_instant(until)
    if when is None:
        return Failed(
            "wait_until_invalid",
            "The instant is neither a date and time with offset nor milliseconds since 1970.",
            retryable=False,
        )
    await context.sleep_until(when)
    return Completed({"until": iso(when)})


def parse_instant(value: Any) -> int | None:
    """The instant since the epoch, or None for what is none. Digits after the milliseconds are dropped."""
    if isinstance(value, str) and _INSTANT_TEXT.search(value) is not None:
        try:
            when = (datetime.fromisoformat(value) - _EPOCH) // timedelta(milliseconds=1)
        except ValueError:
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        when = int(value)
    else:
        return None
    return when if 0 <= when <= MAX_INSTANT_MS else None


def _marker(
    type_id: str,
    title: str,
    text: str,
    inputs: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
) -> NodeType:
    """A node type that changes nothing and shows readers of a definition where they are."""
    handed = "Gives each input back as the output of the same name, and `input` also as `output`."
    return instant_node(
        type_id,
        title,
        inputs=schemas.port_schema(input=schemas.any_value("Handed on to whatever follows.")),
        outputs=schemas.port_schema(output=schemas.any_value("The input `input`, if there is one.")),
        config=config or schemas.closed_object(),
        notes=f"{handed}{text}",
        example_config={},
        example_inputs=inputs or {},
    )(_pass_inputs)


BASIC_NODES: Final[tuple[NodeType, ...]] = (_noop, _identity, _fail, _delay)
FLOW_NODES: Final[tuple[NodeType, ...]] = (
    *BASIC_NODES,
    _marker(
        "core.start",
        "Marks where a workflow begins, and hands its inputs on.",
        """
A workflow needs no start node: a run begins with every node that has no incoming edge.
""",
        {"order": {"type": "variable", "variableName": "order"}},
        schemas.typed("object", "Not read. It may describe what runs are started by."),
    ),
    _marker(
        "core.end",
        "Marks where a workflow ends, and hands its inputs on.",
        """
It does not stop anything: other branches go on, and the run ends when nothing is left to do. As a node without
outgoing edges it shows up in the outputs of the run.
""",
        {"total": {"type": "connection", "nodeId": "sum", "outputKey": "output"}},
    ),
    _marker(
        "core.parallel",
        "Marks where branches begin that run side by side, and hands its inputs on.",
        """
Every edge that leaves it begins a branch. Nodes that do not depend on each other run side by side with or without it.
`core.merge` brings branches together.
""",
    ),
    _merge,
    _conditional,
    _switch,
    _loop,
    _wait,
)
