"""When an event of a replay is the same as the recorded one."""

from typing import Any, Final, Literal

from weftwork.protocol.json.canonical import encode_canonical
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.payloads import TIMESTAMP_MEMBERS, TURN_MEMBERS, NodeRetried

DivergenceKind = Literal["output", "missing", "extra", "type-mismatch"]
"""replay-03 (OpenWOP replay): the replay produced another payload, not the recorded event, an event that is not
recorded, or an event of another type."""
_DELAY: Final = "delayMs"


def comparable_payload(kind: str, payload: dict[str, Any]) -> bytes:
    """replay-02 (OpenWOP replay): the payload without what differs between two executions that are the same: the time
    of the event, and the random part of a retry delay."""
    stamped = TIMESTAMP_MEMBERS.get(kind)
    if stamped is not None:
        payload = {name: value for name, value in payload.items() if name != stamped}
    elif kind in TURN_MEMBERS and is_object(turn := payload.get(TURN_MEMBERS[kind])):
        turn = {name: value for name, value in turn.items() if name != "ts"}
        payload = {**payload, TURN_MEMBERS[kind]: turn}
    elif kind == NodeRetried.event_type:
        payload = {name: value for name, value in payload.items() if name != _DELAY}
    return encode_canonical(payload)
