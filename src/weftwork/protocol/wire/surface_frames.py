"""Frames of surfaces that are not events of the log: partial surfaces, and deltas between recorded ones.

A frame is an event document. Its members are also at the top of the document, as for the other frames that are derived
(readings, state.snapshot and ai.message.chunk frames). `surfaceRef` names the place where a node shows its surfaces: it
is the id of the node, and what is shown there later replaces what was shown before.

Sources: RFC 0102 (streaming), RFC 0114, envelope `partial` (RFC 0021).
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.privacy.credential_redaction import mask_credentials
from weftwork.protocol.run.events import Event
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.streams import UPDATE_TYPES, StreamFrame, StreamMode

PARTIAL_TYPE: Final = f"{SURFACE_KIND}.partial"
"""An event type that exists only in streams and is never stored."""


def shows_partial_surfaces(modes: frozenset[StreamMode]) -> bool:
    """Whether streams in these modes have partial surfaces: those that also have the recorded ones."""
    return "debug" in modes or ("updates" in modes and SURFACE_KIND in UPDATE_TYPES)


def partial_frame(event: Event, payload: dict[str, Any] | None, index: int) -> StreamFrame:
    """surf-51 (RFC 0102, streaming): the surface that a node has written so far, after this event of the node.

    Without a payload, the frame says that the partial surface is void. The frame has no id, so it does not move the
    reader's cursor, and a resumed stream does not repeat it.
    """
    document = {
        "eventId": f"{event.event_id}-partial",
        "runId": event.run_id,
        "type": PARTIAL_TYPE,
        "sequence": event.sequence,
        "timestamp": iso(event.timestamp),
        "schemaVersion": event.schema_version,
        "nodeId": event.node_id,
        **({"contentTrust": event.content_trust} if event.content_trust is not None else {}),
        "surfaceRef": event.node_id,
        "partial": {"isPartial": True, "index": index, "total": -1},
        "isVoid": payload is None,
        "payload": mask_credentials(payload),
    }
    return StreamFrame("", PARTIAL_TYPE, msgspec.json.encode(document))
