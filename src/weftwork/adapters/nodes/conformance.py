"""What exists to be checked against: node types that prove refusals, and what a published workflow expects."""

from typing import Final, cast

from weftwork.adapters.nodes.media import EMITTED, KINDS, outputs_of
from weftwork.adapters.nodes.shape import closed, fixed, notes, ports, template, whole
from weftwork.ports.media import MediaKind, MediaSent
from weftwork.ports.nodes import (
    Completed,
    Failed,
    InstantNode,
    NodeCall,
    NodeContext,
    NodeType,
    Outcome,
    WaitingNode,
    WriteChannel,
)
from weftwork.protocol.node_type import NEVER_PROVIDED, NodeDeclaration


def _never_runs(call: NodeCall) -> Outcome:
    return Failed("host_invariant_broken", "A node ran although the host lacks a capability it requires.")


def duplicate_messages() -> tuple[WriteChannel, ...]:
    """Two messages, the second one written twice: what a channel with the reducer `message` keeps once."""
    texts = {"msg-1": "The first message.", "msg-2": "The second message."}
    return tuple(
        WriteChannel(
            "messages",
            {"messageId": each, "role": "assistant", "content": texts[each], "timestamp": _MESSAGES_AT},
            "message",
        )
        for each in ("msg-1", "msg-2", "msg-2")
    )


_HEADS: Final[dict[str, tuple[str, bytes]]] = {
    "image": ("image/png", b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d494844520000000100000001080000000000")),
    "audio": ("audio/wav", b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"),
    "file": ("application/pdf", b"%PDF-1.4\n"),
}
"""What media begin with, by which everybody knows them."""
LEAST_MEDIA: Final = 64
MOST_MEDIA: Final = 26_214_400
_FILLING: Final = bytes(range(256))


def media_bytes(kind: str, size: int) -> bytes:
    """So many bytes that look like media of the kind; the same ones each time."""
    _, head = _HEADS[kind]
    missing = size - len(head)
    return head + (_FILLING * (missing // len(_FILLING) + 1))[:missing]


async def _emit(call: NodeCall, context: NodeContext) -> Outcome:
    """media-68 (RFC 0055 B)"""
    config = call.config
    kind = cast("MediaKind", config.get("kind", "image"))
    media_type, _ = _HEADS[kind]
    data = media_bytes(kind, config.get("bytes", LEAST_MEDIA))
    sent = MediaSent(kind, data, media_type, config.get("alt", ""), inline=bool(config.get("inline")))
    return Completed(outputs_of(await context.emit_media(sent)))


_MESSAGES_AT: Final = "2026-01-01T00:00:00.000Z"
"""Fixed: a node that answers at once knows no time, and equal runs write equal messages."""

CONFORMANCE: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration(
            "conformance.requiresMissing",
            "Requires a runtime capability that no host provides.",
            requires=(NEVER_PROVIDED,),
            config={"type": "object"},
        ),
        _never_runs,
    ),
)

MEDIA_CHECKS: Final[tuple[NodeType, ...]] = (
    WaitingNode(
        NodeDeclaration(
            "conformance.media.emit",
            "Shows media of a wanted kind and size.",
            instant=False,
            inputs=ports({}),
            outputs=fixed(EMITTED),
            config=closed(
                {
                    "kind": {
                        "type": "string",
                        "enum": [*KINDS],
                        "default": "image",
                        "description": "A PNG, a WAV or a PDF.",
                    },
                    "bytes": {
                        **whole(LEAST_MEDIA, MOST_MEDIA, "How many there are to be."),
                        "default": LEAST_MEDIA,
                    },
                    "inline": {
                        "type": "boolean",
                        "default": False,
                        "description": "Whether the bytes stand in the event itself, if they are few enough.",
                    },
                    "alt": template("What is to be seen or heard."),
                }
            ),
            notes=notes(
                """
Only a host with `--conformance` has this type. It makes bytes that begin like media of the kind, the same ones
for the same config, and emits them as [core.media.emit](core.media.emit.md) does.
""",
                "conformance.media.emit",
                {"kind": "image", "bytes": 4096, "alt": "A grey dot"},
            ),
        ),
        _emit,
    ),
)
