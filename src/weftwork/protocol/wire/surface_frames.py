"""Frames of surfaces that are not events of the log: partial surfaces, and deltas between recorded ones.

A frame is an event document. Its members are also at the top of the document, as for the other frames that are derived
(readings, state.snapshot and ai.message.chunk frames). `surfaceRef` names the place where a node shows its surfaces: it
is the id of the node, and what is shown there later replaces what was shown before.

Sources: RFC 0102 (streaming), RFC 0114, envelope `partial` (RFC 0021).
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.errors import invalid
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.privacy.credential_redaction import mask_credentials
from weftwork.protocol.run.events import Event
from weftwork.protocol.surfaces.delta import make_patch
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.streams import UPDATE_TYPES, Cursor, StreamFrame, StreamMode, event_frames

PARTIAL_TYPE: Final = f"{SURFACE_KIND}.partial"
"""An event type that exists only in streams and is never stored."""
DELTA_TYPE: Final = f"{SURFACE_KIND}.delta"
"""The event type of a recorded surface that is sent as a delta. It is never stored either."""
DELTA_PARAMETER: Final = "a2uiDelta"
DELTA_TRANSPORT: Final = {"deltaTransport": True}
"""surf-54 (RFC 0114): the capability `a2uiSurface` of a host whose streams accept `DELTA_PARAMETER`."""
MAX_BASES: Final = 8
"""Nodes of one run whose surfaces are kept for a reader that asks for deltas. Others are sent whole."""
MAX_BASE_BYTES: Final = 262_144
"""Size of the largest surface that is kept."""


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
        "payload": mask_credentials(payload) if may_hold_credential(encode_stored(payload)) else payload,
    }
    return StreamFrame("", PARTIAL_TYPE, msgspec.json.encode(document))


def parse_delta(text: str | None) -> bool:
    """surf-53 (RFC 0114): whether a reader asks for deltas. Raises for other values than 0 and 1."""
    if text not in (None, "0", "1"):
        message = f"{DELTA_PARAMETER} must be 1, for deltas between surfaces, or 0, for whole surfaces."
        raise invalid(message, parameter=DELTA_PARAMETER)
    return text == "1"


class SurfaceDeltas(msgspec.Struct, eq=False):
    """What one reader that asks for deltas has received in one response: the newest surface of each node.

    The first surface of each node in a response is sent whole, so the host needs no memory of earlier responses, and a
    reader that could not apply a patch connects again.
    """

    _bases: dict[str, tuple[bytes, Any]] = {}
    """The payload and the trust of what the reader has under each reference."""

    def copy(self) -> "SurfaceDeltas":
        return SurfaceDeltas(self._bases.copy())

    def frames(self, event: Event, modes: frozenset[StreamMode], after: Cursor) -> list[StreamFrame]:
        """The frames of an event, as `event_frames` returns them, and surfaces as deltas if possible."""
        frames = event_frames(event, modes, after)
        if event.type != SURFACE_KIND or not frames:
            return frames
        document = self.document(event)
        return [StreamFrame(frames[0].id, document["type"], msgspec.json.encode(document), frames[0].flush)]

    def document(self, event: Event) -> dict[str, Any]:
        """The document of a recorded surface for this reader, in the place in which its node shows surfaces."""
        return self.transport(msgspec.json.decode(event.document), event.node_id or "")

    def transport(self, document: dict[str, Any], reference: str) -> dict[str, Any]:
        """surf-53 (RFC 0114): an event document of a surface for this reader: the same with the member `surfaceRef`, or
        a delta from the surface that the reader has under this reference.

        A delta has no place for the trust of its surface, so surfaces of different trust are sent whole.
        """
        payload, trust = document["payload"], document.get("contentTrust")
        encoded = encode_stored(payload)
        base, base_trust = self._bases.pop(reference, (None, None))
        if len(encoded) <= MAX_BASE_BYTES:
            self._bases[reference] = encoded, trust
            if len(self._bases) > MAX_BASES:
                del self._bases[next(iter(self._bases))]
        patch = make_patch(msgspec.json.decode(base), payload) if base is not None and base_trust == trust else None
        if patch is None:
            return {**document, "surfaceRef": reference}
        delta = {"surfaceRef": reference, "catalogVersion": payload["catalogVersion"], "patch": patch}
        return {**document, "type": DELTA_TYPE, **delta, "payload": delta}
