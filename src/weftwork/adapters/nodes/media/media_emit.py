"""The node type core.media.emit: stores an image, audio or a file as an asset, and emits an event about it."""

import binascii
from base64 import b64decode
from functools import partial
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
"""Characters. A larger value would not fit into a request that registers a workflow."""
MAX_SECONDS: Final = 1_000_000

_SOURCES: Final = {"base64": "data", "mediaRef": "mediaRef", "text": "text"}
"""The config members of the sources, each with the input that overrides it."""
_NO_SOURCE: Final = (
    "The node has no media: set one of the inputs data, mediaRef and text, or of the config members base64, mediaRef "
    "and text."
)
_SEVERAL_SOURCES: Final = "The node has several sources of media, but can emit only one: {}."


MEDIA_OUTPUTS: Final = {
    "mediaRef": schemas.typed("string", "The reference of the asset, for other nodes and models."),
    "url": schemas.typed("string", "The URL of the asset. Absent if the event contains the bytes."),
    "bytes": schemas.typed("integer", "The size in bytes."),
    "mimeType": schemas.typed("string", "The media type that the asset is served with."),
    "envelopeId": schemas.typed("string", "The id of the envelope."),
    "rendering": schemas.typed("object", "The rendering hint for clients: `display`, `mimeType`, `alt` and `title`."),
}


def _check(config: dict[str, Any]) -> list[Violation]:
    sources = [member for member in _SOURCES if member in config]
    violations = [Violation(f"/{each}", "not", f"cannot be combined with {sources[0]}") for each in sources[1:]]
    if "durationSeconds" in config and config["kind"] != "audio":
        violations.append(Violation("/durationSeconds", "not", "is allowed only with the kind audio"))
    return violations


@waiting_node(
    "core.media.emit",
    "Emits an image, audio or a file for the clients of the run.",
    inputs=schemas.port_schema(
        data={"type": ["string", "null"], "description": "The bytes in base64. Overrides the config member `base64`."},
        mediaRef={
            "type": ["string", "object", "null"],
            "description": "The `mediaRef` of an asset of the tenant, or an object with one. Overrides the config.",
        },
        text={"type": ["string", "null"], "description": "The content of a text file. Overrides the config."},
    ),
    outputs=schemas.fixed_ports(**MEDIA_OUTPUTS),
    config=schemas.closed_object(
        "kind",
        kind=schemas.one_of(MEDIA_KINDS, "The kind of media, which decides how clients show it."),
        base64=schemas.name_string("The bytes in base64, if no input has them.", MAX_BASE64),
        mediaRef=schemas.name_string("The `mediaRef` of an asset of the tenant, if no input has one."),
        text=schemas.template_string("The content of a text file, if no input has it; a template."),
        alt=schemas.template_string("The alternative text, for readers who cannot see or hear the media; a template."),
        title=schemas.template_string("The title; a template."),
        name=schemas.template_string("The file name for downloads; a template."),
        mimeType=schemas.name_string(
            "The media type. If it does not agree with the bytes, `application/octet-stream` is used."
        ),
        inline=schemas.typed(
            "boolean", "Whether the event contains the bytes, if they are within the limit.", default=False
        ),
        durationSeconds=schemas.typed("number", "The duration of audio in seconds.", minimum=0, maximum=MAX_SECONDS),
    ),
    templates={f"/{each}": () for each in ("text", "alt", "title", "name")},
    check_config=_check,
    notes="""
The host stores the bytes as an [asset](../assets.md) of the tenant, and emits an envelope of the kind `media.image`,
`media.audio` or `media.file`, with an event of the same name. The node has exactly one source: bytes (`data` or
`base64`), an asset (`mediaRef`) or a text (`text`). A text has the media type `text/plain`, unless `mimeType` is set.

| problem | the node fails with |
|---|---|
| no source | `node_input_missing` |
| several sources, or a source that is empty or invalid | `node_input_invalid` |
| an asset that the tenant does not have | `media_not_found` |
| more bytes than `WEFTWORK_MAX_UPLOAD_BYTES` | `media_too_large` |

The event contains a URL of the asset. Anyone who has the URL can open it, as long as a run refers to the asset. With
`inline`, the event contains the bytes instead, if there are no more than `WEFTWORK_MAX_INLINE_MEDIA_BYTES`. Without
`alt`, the host writes a warning to the log of the run. If the node runs again after a crash, it does not emit a second
event.
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
    media = await context.compute(partial(_media_to_send, call))
    return Completed(media_outputs(await context.emit_media(media)))


def media_outputs(emitted: EmittedMedia) -> dict[str, Any]:
    """The values of MEDIA_OUTPUTS; they contain references, not the bytes."""
    members = {each: emitted.payload[each] for each in ("url", "bytes", "mimeType") if each in emitted.payload}
    return {"mediaRef": emitted.media_ref, **members, "envelopeId": emitted.envelope_id, "rendering": emitted.rendering}


def _media_to_send(call: NodeCall) -> OutgoingMedia:
    """Raises StepFailed, ExpressionFault."""
    sources = [
        member for member, port in _SOURCES.items() if call.inputs.get(port) is not None or member in call.config
    ]
    if len(sources) != 1:
        code = "node_input_invalid" if sources else "node_input_missing"
        message = _SEVERAL_SOURCES.format(", ".join(sources)) if sources else _NO_SOURCE
        raise StepFailed(Failed(code, message, retryable=False))
    source = _source(call, sources[0])
    config = call.config
    texts = {each: render(call, config[each]) if each in config else "" for each in ("alt", "title", "name")}
    media_type = config.get("mimeType", "text/plain" if sources[0] == "text" else "")
    kind = cast("MediaKind", config["kind"])
    duration = config.get("durationSeconds")
    return OutgoingMedia(
        kind, source, media_type, **texts, duration_seconds=duration, inline=bool(config.get("inline"))
    )


def _source(call: NodeCall, member: str) -> bytes | str:
    """The bytes, or the mediaRef of an asset. Raises StepFailed, ExpressionFault."""
    port_value = call.inputs.get(_SOURCES[member])
    if member == "mediaRef":
        value: object = call.config.get(member) if port_value is None else port_value
        ref = value.get(member) if is_object(value) else value
        if isinstance(ref, str) and media_ref_digest(ref) is not None:
            return ref
        raise _invalid("The input mediaRef is neither a mediaRef nor an object with a mediaRef.")
    value = port_value if port_value is not None else call.config[member]
    if not isinstance(value, str):
        raise _invalid(f"The input {_SOURCES[member]} is not a text.")
    if member == "text":
        data = (value if port_value is not None else render(call, value)).encode()
    else:
        try:
            data = b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise _invalid("The input data is not valid base64.") from None
    if not data:
        raise _invalid(f"The input {_SOURCES[member]} is empty; media needs at least one byte.")
    return data


def _invalid(message: str) -> StepFailed:
    return StepFailed(Failed("node_input_invalid", message, retryable=False))
