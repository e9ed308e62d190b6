"""The node type core.media.emit: shows an image, a sound or a file to readers of the run."""

import binascii
from base64 import b64decode
from typing import Any, Final, cast

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import render
from weftwork.adapters.nodes.schemas import waiting_node
from weftwork.ports.media import EmittedMedia, MediaKind, OutgoingMedia
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.asset_references import media_ref_digest

MEDIA_KINDS: Final = ("image", "audio", "file")
MAX_BASE64: Final = 1_400_000
"""Characters: more does not fit a request that registers a workflow."""
MAX_SECONDS: Final = 1_000_000

_SOURCES: Final = {"base64": "data", "mediaRef": "mediaRef", "text": "text"}
"""Members of the config, and the ports that win over them."""
_NO_SOURCE: Final = "The node needs something to show: one of the inputs data, mediaRef and text, or it in its config."
_SEVERAL_SOURCES: Final = "The node is given several things to show, and emits one: {}."


MEDIA_OUTPUTS: Final = {
    "mediaRef": schemas.typed("string", "The handle of the asset, for nodes and models."),
    "url": schemas.typed("string", "Opens the asset. Not there if the bytes stand in the event."),
    "bytes": schemas.typed("integer", "How many there are."),
    "mimeType": schemas.typed("string", "What they are, if they look like it."),
    "envelopeId": schemas.typed("string", "The envelope that shows it."),
    "rendering": schemas.typed("object", "The hint for those who show it: display, mimeType, alt, title."),
}


def _check(config: dict[str, Any]) -> list[Violation]:
    given = [member for member in _SOURCES if member in config]
    violations = [Violation(f"/{each}", "not", "stands beside another source") for each in given[1:]]
    if "durationSeconds" in config and config["kind"] != "audio":
        violations.append(Violation("/durationSeconds", "not", "means nothing without the kind audio"))
    return violations


@waiting_node(
    "core.media.emit",
    "Shows an image, a sound or a file to those who follow the run.",
    inputs=schemas.port_schema(
        data={"type": ["string", "null"], "description": "The bytes in base64; wins over `base64`."},
        mediaRef={
            "type": ["string", "object", "null"],
            "description": "An asset of the tenant, or an object with its mediaRef; wins over the config.",
        },
        text={"type": ["string", "null"], "description": "The text of the file; wins over the config."},
    ),
    outputs=schemas.fixed_ports(**MEDIA_OUTPUTS),
    config=schemas.closed_object(
        "kind",
        kind=schemas.one_of(MEDIA_KINDS, "How it is shown."),
        base64=schemas.name_string("The bytes, if no port brings them.", MAX_BASE64),
        mediaRef=schemas.name_string("An asset of the tenant, if no port brings it."),
        text=schemas.template_string("The text of the file, with expressions in double braces, if no port brings it."),
        alt=schemas.template_string("What is to be seen or heard, for those who cannot; a template."),
        title=schemas.template_string("What stands above it; a template."),
        name=schemas.template_string("The name under which it is saved; a template."),
        mimeType=schemas.name_string("What the bytes are. What they look like decides."),
        inline=schemas.typed(
            "boolean", "Whether the bytes stand in the event itself, if they are few enough.", default=False
        ),
        durationSeconds=schemas.typed("number", "How long a sound is.", minimum=0, maximum=MAX_SECONDS),
    ),
    templates={f"/{each}": () for each in ("text", "alt", "title", "name")},
    check_config=_check,
    notes="""
The bytes are kept as an asset of the tenant, and an envelope `media.image`, `media.audio` or `media.file` tells of it,
with an event of the same name. The source is one: bytes (`data` or `base64`), an asset (`mediaRef`) or a text. Without
it the node fails with `node_input_missing`, with several, or with one that is none or empty, with
`node_input_invalid`, with an asset that the tenant does not have with `media_not_found`, and with more bytes than
`WEFTWORK_MAX_UPLOAD_BYTES` with `media_too_large`. Without `alt` the log of the run has a warning.

The event has a URL, which opens the asset for anybody who knows it, as long as a run refers to it. With `inline` it has
the bytes, up to `WEFTWORK_MAX_INLINE_MEDIA_BYTES` of them. A text is `text/plain` unless `mimeType` says something
else. However often the node runs again after a crash, it emits once.
""",
    example_config={
        "kind": "file",
        "text": "Order;Total\n{{ports.order.id}};{{ports.order.total}}\n",
        "name": "order.csv",
        "mimeType": "text/csv",
        "alt": "The order as a table",
    },
    example_inputs={"order": {"type": "variable", "variableName": "order"}},
)
async def media_emit(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """media-67 (RFC 0055 B)"""
    return Completed(media_outputs(await context.emit_media(_media_to_send(call))))


def media_outputs(made: EmittedMedia) -> dict[str, Any]:
    """What a node gives that has emitted this: references, and no bytes."""
    known = {each: made.payload[each] for each in ("url", "bytes", "mimeType") if each in made.payload}
    return {"mediaRef": made.media_ref, **known, "envelopeId": made.envelope_id, "rendering": made.rendering}


def _media_to_send(call: NodeCall) -> OutgoingMedia:
    """What the node is to send. Raises StepFailed, ExpressionFault."""
    given = [member for member, port in _SOURCES.items() if call.inputs.get(port) is not None or member in call.config]
    if len(given) != 1:
        code = "node_input_invalid" if given else "node_input_missing"
        message = _SEVERAL_SOURCES.format(", ".join(given)) if given else _NO_SOURCE
        raise StepFailed(Failed(code, message, retryable=False))
    source = _source(call, given[0])
    config = call.config
    said = {each: render(call, config[each]) if each in config else "" for each in ("alt", "title", "name")}
    media_type = config.get("mimeType", "text/plain" if given[0] == "text" else "")
    kind = cast("MediaKind", config["kind"])
    duration = config.get("durationSeconds")
    return OutgoingMedia(kind, source, media_type, **said, duration_seconds=duration, inline=bool(config.get("inline")))


def _source(call: NodeCall, member: str) -> bytes | str:
    """The bytes, or the asset, that the node shows. Raises StepFailed, ExpressionFault."""
    brought = call.inputs.get(_SOURCES[member])
    if member == "mediaRef":
        found: object = call.config.get(member) if brought is None else brought
        ref = found.get(member) if is_object(found) else found
        if isinstance(ref, str) and media_ref_digest(ref) is not None:
            return ref
        raise _invalid("The input mediaRef is no mediaRef, and has none.")
    found = brought if brought is not None else call.config[member]
    if not isinstance(found, str):
        raise _invalid(f"The input {_SOURCES[member]} is no text.")
    if member == "text":
        data = (found if brought is not None else render(call, found)).encode()
    else:
        try:
            data = b64decode(found, validate=True)
        except (binascii.Error, ValueError):
            raise _invalid("The input data is no base64.") from None
    if not data:
        raise _invalid(f"There is nothing to show: the input {_SOURCES[member]} is empty.")
    return data


def _invalid(message: str) -> StepFailed:
    return StepFailed(Failed("node_input_invalid", message, retryable=False))
