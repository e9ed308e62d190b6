"""When an event of a replay is the same as the recorded one."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.canonical import encode_canonical
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.payloads import TIMESTAMP_MEMBERS, TURN_MEMBERS, NodeFailed, NodeRetried, RunFailed

DivergenceKind = Literal["output", "missing", "extra", "type-mismatch"]
"""replay-03 (OpenWOP replay): the replay produced another payload, not the recorded event, an event that is not
recorded, or an event of another type."""
_DELAY: Final = "delayMs"
_MESSAGE: Final = "message"
FAILURE_MEMBERS: Final[dict[str, str]] = {
    NodeFailed.event_type: "error",
    NodeRetried.event_type: "lastError",
    RunFailed.event_type: "error",
}
"""The member with the failure, by event type."""


class ProducedEvent(msgspec.Struct, frozen=True):
    """An event that a node has produced, in the record or in the replay."""

    kind: str
    payload: bytes
    """Comparable."""
    is_optional: bool = False
    """Whether the node does not produce a recorded event again, because it belongs to a recorded answer."""


def find_difference(
    recorded: Sequence[ProducedEvent], produced: Sequence[ProducedEvent]
) -> tuple[DivergenceKind, int] | None:
    """replay-03: the first difference between what is recorded and what is produced, with its position in the record;
    None if they are the same."""
    at = 0
    for position, each in enumerate(recorded):
        if at < len(produced) and (each.kind, each.payload) == (produced[at].kind, produced[at].payload):
            at += 1
            continue
        if each.is_optional:
            continue
        if at == len(produced):
            return "missing", position
        if each.kind == produced[at].kind:
            return "output", position
        if position + 1 < len(recorded) and recorded[position + 1].kind == produced[at].kind:
            return "missing", position
        if at + 1 < len(produced) and each.kind == produced[at + 1].kind:
            return "extra", position
        return "type-mismatch", position
    return ("extra", len(recorded) - 1) if at < len(produced) else None


def comparable_payload(kind: str, payload: dict[str, Any]) -> bytes:
    """replay-02 (OpenWOP replay): the payload without what differs between two executions that are the same: the time
    of the event, the random part of a retry delay, and the message of a failure.

    Messages are for people. A later version may word one better, and that is no other outcome; the code and the details
    of a failure are compared."""
    stamped = TIMESTAMP_MEMBERS.get(kind)
    if stamped is not None:
        payload = {name: value for name, value in payload.items() if name != stamped}
    elif kind in TURN_MEMBERS and is_object(turn := payload.get(TURN_MEMBERS[kind])):
        turn = {name: value for name, value in turn.items() if name != "ts"}
        payload = {**payload, TURN_MEMBERS[kind]: turn}
    elif kind in FAILURE_MEMBERS:
        failure = FAILURE_MEMBERS[kind]
        payload = {name: value for name, value in payload.items() if name != _DELAY}
        if is_object(error := payload.get(failure)):
            payload[failure] = {name: value for name, value in error.items() if name != _MESSAGE}
    return encode_canonical(payload)
