"""The node type conformance.media.emit: emits sample media of a kind and size. For tests of hosts."""

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
"""What media begin with, by which everybody knows them."""
MIN_MEDIA_BYTES: Final = 64
MAX_MEDIA_BYTES: Final = 26_214_400
_PADDING: Final = bytes(range(256))


def sample_media(kind: str, size: int) -> bytes:
    """So many bytes that look like media of the kind; the same ones each time."""
    _, head = _MEDIA_HEADERS[kind]
    missing = size - len(head)
    return head + (_PADDING * (missing // len(_PADDING) + 1))[:missing]


@waiting_node(
    "conformance.media.emit",
    "Shows media of a wanted kind and size.",
    inputs=schemas.port_schema(),
    outputs=schemas.fixed_ports(**MEDIA_OUTPUTS),
    config=schemas.closed_object(
        kind=schemas.one_of(MEDIA_KINDS, "A PNG, a WAV or a PDF.", default="image"),
        bytes=schemas.integer(MIN_MEDIA_BYTES, MAX_MEDIA_BYTES, "How many there are to be.", default=MIN_MEDIA_BYTES),
        inline=schemas.typed(
            "boolean", "Whether the bytes stand in the event itself, if they are few enough.", default=False
        ),
        alt=schemas.template_string("What is to be seen or heard."),
    ),
    notes="""
Only a host with `--conformance` has this type. It makes bytes that begin like media of the kind, the same ones
for the same config, and emits them as [core.media.emit](core.media.emit.md) does.
""",
    example_config={"kind": "image", "bytes": 4096, "alt": "A grey dot"},
)
async def sample_media_emit(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """media-68 (RFC 0055 B)"""
    config = call.config
    kind = cast("MediaKind", config.get("kind", "image"))
    media_type, _ = _MEDIA_HEADERS[kind]
    data = sample_media(kind, config.get("bytes", MIN_MEDIA_BYTES))
    sent = OutgoingMedia(kind, data, media_type, config.get("alt", ""), inline=bool(config.get("inline")))
    return Completed(media_outputs(await context.emit_media(sent)))
