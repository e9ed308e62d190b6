"""The config and the input `surface` of node types that show a form, and the node type core.ui.surface."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import render
from weftwork.adapters.nodes.people.interrupt_request import (
    TIMED_OUT,
    TIMEOUT_CONFIG,
    check_interrupt_config,
    check_timeout_default,
    default_interrupt_key,
    reminders_ms,
    timeout_ms,
)
from weftwork.adapters.nodes.schemas import Schema, waiting_node
from weftwork.engine.sdk.surfaces import emit_surface
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.envelopes.handling import requested_surface_id, surface_request
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.pointers import match_pointer_pattern
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.surfaces.actions import ACTION, BoundSurface, answer_schema, check_binding
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.protocol.surfaces.surface import COMPONENTS, Surface, as_payload, parse_surface

_DEFAULT: Final = "defaultAnswer"
_ID: Final = "surfaceId"
_TEXTS: Final = ("/title", "/components/*/text", "/components/*/label", "/components/*/placeholder")
_OPTION_TEXTS: Final = "/components/*/options/*/label"
SURFACE_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {f"/surface{each}": () for each in (*_TEXTS, _OPTION_TEXTS)}
"""surf-34 (host): the texts of a surface in a config that are templates. Ids, types and values are not, so a value of
the run can only become text that a person reads."""


_OPTION: Final = schemas.closed_object(
    "value",
    "label",
    value=schemas.typed("string", "The value in the answer."),
    label=schemas.template_string("The text for the person; a template.", 0),
)
_COMPONENT: Final = schemas.closed_object(
    "component",
    component=schemas.one_of((str(each.__struct_config__.tag) for each in COMPONENTS), "The type of the component."),
    text=schemas.template_string("The text of a heading or a text; a template.", 0),
    level=schemas.integer(1, 6, "The level of a heading.", default=2),
    id=schemas.typed("string", "The id of a field or a button."),
    label=schemas.template_string("The label of a field or a button; a template.", 0),
    placeholder=schemas.template_string("An example in an empty text field; a template.", 0),
    required=schemas.typed("boolean", "Whether a field must be filled in.", default=False),
    default=schemas.typed("boolean", "The value of a check box at first.", default=False),
    options=schemas.typed("array", "The options of a select field.", items=_OPTION),
    action=schemas.closed_object(
        "target", target=schemas.one_of(("resume", "exchange"), "`exchange` for a turn of a conversation.")
    ),
)


def surface_config(use: str) -> Schema:
    """The schema of a surface in a config. `check_surface_config` checks which members each component has."""
    shape = schemas.closed_object(
        "components",
        title=schemas.template_string("The title; a template.", 0),
        components=schemas.typed(
            "array",
            "The components, in their order, as in [Ask with a form](../../how-to/ask-with-a-form.md).",
            items=_COMPONENT,
        ),
    )
    return {**shape, "description": use}


def surface_input(use: str) -> Schema:
    return schemas.typed(
        ["object", "null"],  # type: ignore[arg-type]
        f"{use} A surface, or the payload of a surface from a model. Overrides the config.",
    )


def check_surface_config(config: dict[str, Any], kind: str | None, data: dict[str, Any]) -> list[Violation]:
    """surf-34: the violations of the surface in a config. `kind` and `data` are those of the interrupt that it is the
    form of; without a kind, it need not have a button."""
    if "surface" not in config:
        return []
    checked = check_stored(as_payload(config["surface"]))
    found = list(checked.diagnostics)
    if checked.surface is not None and kind is not None:
        found += check_binding(BoundSurface(checked.surface, kind, data))
    # A surface in a config is written without the payload around it.
    return [Violation(each.pointer or "/surface", each.rule, each.message) for each in found]


def form_payload(call: NodeCall) -> dict[str, Any] | None:
    """The payload of the surface in the input or the config, with its texts rendered. None without one. Raises
    StepFailed for a surface that is not valid, and ExpressionFault."""
    if (given := call.inputs.get("surface")) is not None:
        payload = as_payload(given)
    elif "surface" in call.config:
        payload = as_payload(_rendered(call, call.config["surface"]))
    else:
        return None
    checked = check_stored(payload)
    if checked.surface is None:
        first = checked.diagnostics[0]
        message = f"The surface of the node is invalid: {first.pointer or 'the surface'} {first.message}."
        raise StepFailed(Failed("node_input_invalid", message, {"pointer": first.pointer}, retryable=False))
    return payload


def _rendered(call: NodeCall, surface: dict[str, Any]) -> dict[str, Any]:
    texts = {pointer: render(call, text) for pointer, text in _template_texts(surface)}
    return _replaced(surface, texts, "")


def _template_texts(surface: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for pattern in (*_TEXTS, _OPTION_TEXTS):
        yield from match_pointer_pattern(surface, pattern)


def _replaced(value: Any, texts: dict[str, str], at: str) -> Any:
    if is_object(value):
        return {name: _replaced(each, texts, f"{at}/{name}") for name, each in value.items()}
    if is_array(value):
        return [_replaced(each, texts, f"{at}/{index}") for index, each in enumerate(value)]
    return texts.get(at, value)


def _check(config: dict[str, Any]) -> list[Violation]:
    violations = check_surface_config(config, None, {})
    violations += check_interrupt_config(config, "custom", surface_request("key", None).data)
    violations += check_timeout_default(config, _DEFAULT)
    surface = parse_surface(as_payload(config["surface"])) if "surface" in config else None
    if violations or surface is None or _DEFAULT not in config:
        return violations
    return check_value(answer_schema(surface, "resume"), config[_DEFAULT], f"/{_DEFAULT}")


@waiting_node(
    "core.ui.surface",
    "Shows a surface to a person. If it has a button, waits until one is pressed.",
    inputs=schemas.port_schema(surface=surface_input("The surface.")),
    outputs=schemas.fixed_ports(
        action=schemas.typed("string", "The id of the pressed button. Absent if the surface has no button."),
        values=schemas.typed(
            "object", "The values by field id. A field that was left empty has none; a check box always has one."
        ),
        **{_ID: schemas.typed("string", "The id of the surface.")},
    ),
    config=schemas.closed_object(
        surface=surface_config("The surface."),
        **{
            _DEFAULT: schemas.typed(
                "object", "The answer after a timeout: `action`, the id of a button, and the values by field id."
            )
        },
        **TIMEOUT_CONFIG,
    ),
    templates=SURFACE_TEMPLATES,
    check_config=_check,
    notes="""
A surface with a button whose target is `resume` suspends the run until a person has pressed one. The edge condition
`{"type": "equals", "left": "action", "right": "book"}` follows one button. A surface without a button is shown to the
clients of the run, and the node completes at once.

The host checks a surface in the config when the workflow is registered. A surface from the input is checked when the
node runs; if it is invalid, the node fails with `node_input_invalid`, or with `envelope_invalid` if none of its buttons
can be pressed. Without any surface the node fails with `node_input_missing`.

The texts of the surface in the config are templates. Their values become text that a person reads, and nothing else:
ids, types, options and targets cannot come from a value. If the node has
[untrusted content](../../concepts.md#trust), its surface is untrusted.

After a timeout the node uses `defaultAnswer`; without one it fails with `interrupt_timeout`. A host that renders no
surfaces records the surface, and the node completes without an answer.
""",
    example_config={
        "surface": {
            "title": "Delivery",
            "components": [
                {"component": "text", "text": "Order {{ports.order.id}} is ready. When may it arrive?"},
                {"component": "field.date", "id": "day", "label": "Day", "required": True},
                {"component": "action.button", "id": "send", "label": "Send it", "action": {"target": "resume"}},
                {"component": "action.button", "id": "cancel", "label": "Cancel", "action": {"target": "resume"}},
            ],
        },
    },
    example_inputs={"order": {"type": "variable", "variableName": "order"}},
)
async def surface_node(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """surf-35 (RFC 0102): a surface with a button asks a person, one without is shown."""
    key = default_interrupt_key(call)
    if key in call.answers:
        return await _answered(call, context, key, None)
    payload = await context.compute(partial(form_payload, call))
    if payload is None:
        message = "The node has no surface: set the input surface or the config surface."
        return Failed("node_input_missing", message, retryable=False)
    if _has_buttons(parse_surface(payload)) and context.renders_surfaces:
        return await _answered(call, context, key, payload)
    emitted = await emit_surface(context, payload, "node")
    if isinstance(emitted, Failed):
        return emitted
    return Completed({_ID: emitted})


def _has_buttons(surface: Surface | None) -> bool:
    return surface is not None and bool(surface.buttons)


async def _answered(call: NodeCall, context: NodeContext, key: str, form: dict[str, Any] | None) -> NodeOutcome:
    resolution = await context.ask(surface_request(key, form, timeout_ms(call.config), reminders_ms(call.config)))
    if resolution.timed_out and _DEFAULT not in call.config:
        return TIMED_OUT
    answer: dict[str, Any] = call.config[_DEFAULT] if resolution.timed_out else resolution.value
    values = {name: value for name, value in answer.items() if name != ACTION}
    surface_id = requested_surface_id(call.answers[key].data)
    return Completed({"action": answer.get(ACTION), "values": values, _ID: surface_id})
