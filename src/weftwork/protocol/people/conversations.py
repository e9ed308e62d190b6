"""Conversations: the events of their turns, and the order that those turns must keep.

Sources: OpenWOP conversation primitive, RFC 0005 B (conversation-event).
"""

from typing import Any

from msgspec import UNSET

from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import Conversation


def opened_event(node_id: str, visit: int, interrupt_id: str, data: dict[str, Any], agent: str | None = None) -> Draft:
    """conv-01 (RFC 0005 B): turn 0 is what the conversation opens with, said by the host or an agent. The append path
    gives each turn its time."""
    content = data.get("initialPrompt", data.get("title", ""))
    turn = _turn(f"{node_id}.{visit}", agent or node_id, content, "system" if agent is None else "agent", 0)
    if agent is not None:
        turn["speakerId"] = agent
    speaker = UNSET if agent is None else agent
    payload = payloads.ConversationOpened(data["conversationId"], turn, ["multi-turn"], speaker)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def exchanged_event(
    node_id: str, visit: int, interrupt_id: str, data: dict[str, Any], known: Conversation, by: str, value: Any
) -> Draft:
    """conv-02 (RFC 0005 B): turns count from 1 and never skip."""
    index = known.turns + 1
    turn = _turn(f"{node_id}.{visit}", by, value, "user", index)
    payload = payloads.ConversationExchanged(data["conversationId"], index, turn)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def closed_event(node_id: str, interrupt_id: str, data: dict[str, Any], known: Conversation) -> Draft:
    """conv-03 (RFC 0005 B): the last word on a conversation repeats its last turn."""
    outcome = {"reason": data["reason"]} if "reason" in data else UNSET
    payload = payloads.ConversationClosed(data["conversationId"], known.turns, known.last, outcome)
    return Draft.of(payload, node_id, interrupt_id=interrupt_id)


def sequence_error(kind: str, known: Conversation | None) -> str | None:
    """conv-04 (OpenWOP conversation primitive): why a conversation cannot go on like this; None if it can."""
    if kind == "conversation.start":
        return None if known is None else "A conversation with this conversationId was opened before in this run."
    if known is None:
        return "There is no conversation with this conversationId: it has to be opened first."
    return None if known.open else "The conversation is closed."


def _turn(place: str, speaker: str, content: Any, role: str, index: int) -> dict[str, Any]:
    """Its id follows from where it was said: neither run nor time is in it, so equal runs have equal turns."""
    return {"messageId": f"{place}.{index}", "from": speaker, "content": content, "role": role, "turnIndex": index}
