"""The node type conformance.media.emit: emits sample media of a given kind and size. For conformance tests."""

from typing import Final, cast

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.media.media_emit import MEDIA_KINDS, MEDIA_OUTPUTS, media_outputs
from weftwork.adapters.nodes.schemas import waiting_node
from weftwork.ports.media import MediaKind, OutgoingMedia
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext

_MEDIA_HEADERS: Final[dict[str, tuple[str, bytes]]] = {
    "image": ("image/png", b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d494844520000000100000001080000000000")),
    "audio": ("audio/wav", b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"),
    "file": ("application/pdf", b"%PDF-1.4\n"),
}
"""The media type of each kind, and the first bytes that identify it."""
MIN_MEDIA_BYTES: Final = 64
MAX_MEDIA_BYTES: Final = 26_214_400
_PADDING: Final = bytes(range(256))


def sample_media(kind: str, size: int) -> bytes:
    """`size` bytes that are detected as media of the kind. Deterministic."""
    _, head = _MEDIA_HEADERS[kind]
    padding = size - len(head)
    return head + (_PADDING * (padding // len(_PADDING) + 1))[:padding]


@waiting_node(
    "conformance.media.emit",
    "Emits sample media of a given kind and size.",
    inputs=schemas.port_schema(),
    outputs=schemas.fixed_ports(**MEDIA_OUTPUTS),
    config=schemas.closed_object(
        kind=schemas.one_of(MEDIA_KINDS, "A PNG, a WAV or a PDF.", default="image"),
        bytes=schemas.integer(MIN_MEDIA_BYTES, MAX_MEDIA_BYTES, "Size of the media in bytes.", default=MIN_MEDIA_BYTES),
        inline=schemas.typed(
            "boolean",
            "Whether to put the bytes into the event itself, if they are within the inline limit.",
            default=False,
        ),
        alt=schemas.template_string("Text description of the media."),
    ),
    notes="""
Only a host with `--conformance` has this type. It generates bytes that begin like media of the kind, always the same
for the same config, and emits them as [core.media.emit](core.media.emit.md) does.
""",
    example_config={"kind": "image", "bytes": 4096, "alt": "A grey dot"},
)
async def sample_media_emit(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """media-68 (RFC 0055 B): emit generated media."""
    config = call.config
    kind = cast("MediaKind", config.get("kind", "image"))
    media_type, _ = _MEDIA_HEADERS[kind]
    data = sample_media(kind, config.get("bytes", MIN_MEDIA_BYTES))
    media = OutgoingMedia(kind, data, media_type, config.get("alt", ""), inline=bool(config.get("inline")))
    return Completed(media_outputs(await context.emit_media(media)))
