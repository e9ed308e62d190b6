"""Surfaces as the forms of questions, for tests of the page."""

from typing import Any

from tests.adapters.http.page.sample_questions import approval, clarification, interrupt_document
from weftwork.protocol.envelopes.kinds import SURFACE_KIND


def surface_payload(*components: dict[str, Any], title: str | None = "A trip to Oslo", **more: Any) -> dict[str, Any]:
    surface: dict[str, Any] = {"components": list(components)}
    if title is not None:
        surface["title"] = title
    return {"catalogVersion": "0.9.1", "surface": surface, **more}


def bound(question: dict[str, Any], payload: Any, trust: str = "trusted") -> dict[str, Any]:
    """The question with this payload as its form."""
    member = {"envelopeId": "env-1", "contentTrust": trust, "payload": payload}
    return {**question, "surface": member}


def button(name: str, label: str = "Go", target: str = "resume") -> dict[str, Any]:
    return {"component": "action.button", "id": name, "label": label, "action": {"target": target}}


EVERY_COMPONENT = (
    {"component": "heading", "text": "Your journey", "level": 2},
    {"component": "text", "text": "We have a seat for you.\nPlease tell us the rest."},
    {"component": "heading", "text": "Who", "level": 5},
    {
        "component": "field.text",
        "id": "who",
        "label": "Who travels?",
        "placeholder": "First and last name",
        "required": True,
    },
    {"component": "field.date", "id": "day", "label": "When do you leave?", "required": True},
    {
        "component": "field.select",
        "id": "class",
        "label": "Which class?",
        "options": [{"value": "first\nclass", "label": "First"}, {"value": "second", "label": "Second"}],
    },
    {"component": "field.checkbox", "id": "meal", "label": "With a meal", "default": True},
    button("book", "Book the journey"),
    button("later", "Decide later"),
)
CUSTOM = interrupt_document(
    "custom", {"customKind": SURFACE_KIND, "payload": {"envelopeId": "env-1", "title": "A trip to Oslo"}}
)
TRIP = bound(CUSTOM, surface_payload(*EVERY_COMPONENT, reasoning="The model does not know the date."))
EXCHANGE = bound(
    interrupt_document("conversation.exchange", {"conversationId": "c", "prompt": "Shall we go on?"}),
    surface_payload(
        {"component": "field.text", "id": "more", "label": "Anything else?"},
        button("yes", "Yes", "exchange"),
        title=None,
    ),
)
ASKED = bound(
    clarification(("who", "Who travels?", None), ("seats", "How many seats?", {"type": "integer"})),
    surface_payload(
        {"component": "field.text", "id": "who", "label": "Who travels?", "required": True},
        {"component": "field.text", "id": "seats", "label": "How many seats?", "required": True},
        button("send", "Send"),
    ),
)
GATE_FORM = surface_payload(
    {"component": "text", "text": "The price is 4 % below the list."},
    {"component": "field.text", "id": "comment", "label": "A remark for the supplier"},
    button("accept", "Buy it"),
    title="Shall we buy the machine?",
)
GATE = bound(approval(["accept", "reject", "ask"]), GATE_FORM)
UNTRUSTED_GATE = bound(approval(["accept", "reject"]), GATE_FORM, "untrusted")
UNTRUSTED = bound(CUSTOM, TRIP["surface"]["payload"], "untrusted")
PARTIAL = {**TRIP, "surface": {**TRIP["surface"], "partial": {"isPartial": True, "index": 0, "total": 2}}}
INERT = bound(CUSTOM, surface_payload(button("go", "Go on"), button("talk", "Talk about it", "exchange")))
INVALID = bound(
    interrupt_document("custom", CUSTOM["data"], resumeSchema={"type": "object", "properties": {"a": {}}}),
    {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "video", "url": "http://x.invalid"}]}},
)
SURFACES = {
    "surface": TRIP,
    "exchange": EXCHANGE,
    "clarification": ASKED,
    "approval": GATE,
    "untrusted approval": UNTRUSTED_GATE,
    "untrusted": UNTRUSTED,
    "partial": PARTIAL,
    "inert button": INERT,
    "invalid": INVALID,
}
