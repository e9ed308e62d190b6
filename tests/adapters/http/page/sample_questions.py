"""Questions as GET /v1/interrupts/{token} shows them, one of each kind and form."""

from typing import Any

from weftwork.protocol.workflow.orchestration import ratification_schema

ACTIONS = ["accept", "reject", "refine", "edit-accept", "ask"]


def interrupt_document(kind: str, data: Any, **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "key": "run:node:0",
        "data": data,
        "requestedAt": "2026-03-02T09:30:00.000Z",
        "expiresAt": "2026-03-09T09:30:00.000Z",
        "runId": "01m7f5zzhp2z8y1fpzhf93nsbb",
        "workflowId": "sales",
        "nodeId": "ask",
        "interruptId": "ask.0",
        "intent": "resolve",
        **more,
    }


def approval(actions: list[str] | None = None, **more: Any) -> dict[str, Any]:
    data = {
        "artifactId": "offer-17",
        "artifactType": "offer",
        "title": "Offer for the Harbour Café",
        "description": "The price is 4 % below the list.\nIt holds for thirty days.\n\nPlease see the delivery date.",
        "artifactData": {
            "customer": "Harbour Café",
            "lines": [
                {"item": "Espresso machine", "count": 1, "price": 2380.5},
                {"item": "Grinder", "count": 2, "price": 410},
            ],
            "delivery": "2026-04-01",
            "note": "Mounting is included.\nTraining is not.",
        },
        "actions": ACTIONS if actions is None else actions,
    }
    return interrupt_document("approval", {**data, **more})


def quorum() -> dict[str, Any]:
    question = approval(["accept", "reject"], requiredApprovals=3, approversList=["ann", "ben", "cleo", "dan"])
    question["data"]["rejectionPolicy"] = "majority"
    votes = [{"voter": "ann", "action": "accept"}, {"voter": "ben", "action": "reject"}]
    return {**question, "votes": votes, "dueAt": "2026-03-05T18:00:00.000Z"}


def clarification(*questions: tuple[str, str, dict[str, Any] | None]) -> dict[str, Any]:
    listed = [
        {"id": name, "question": text, **({} if schema is None else {"schema": schema})}
        for name, text, schema in questions
    ]
    return interrupt_document("clarification", {"questions": listed, "contextType": "travel booking"})


CLARIFICATION = clarification(
    ("why", "What is the journey for?", None),
    ("day", "When do you leave?", {"type": "string", "format": "date"}),
    ("mail", "Where should the tickets go?", {"type": "string", "format": "email"}),
    ("class", "Which class?", {"enum": ["first", "second"]}),
    ("seats", "How many seats?", {"type": "integer", "minimum": 1, "maximum": 9}),
    ("extras", "What else?", {"type": "array", "items": {"enum": ["bicycle", "meal", "quiet zone"]}}),
    ("insured", "Shall we insure the journey?", {"type": "boolean"}),
    ("city", "From which city?", {"enum": [f"City {number}" for number in range(12)]}),
    ("code", "Your cost centre?", {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$", "maxLength": 6}),
    ("weight", "Weight of the luggage, in kg?", {"type": "number", "minimum": 0.5, "exclusiveMaximum": 60}),
    ("rest", "Anything in the form of your system?", {"type": "object"}),
)

REPORT_SCHEMA = {
    "type": "object",
    "required": ["outcome", "count"],
    "properties": {
        "outcome": {"oneOf": [{"const": "ok", "title": "All is well"}, {"const": "bad", "title": "Something broke"}]},
        "count": {"$ref": "#/$defs/count"},
        "remark": {"type": "string", "title": "A remark", "description": "Whatever helps.", "maxLength": 40},
        "key": {"const": "k-1"},
        "more": {},
    },
    "additionalProperties": False,
    "$defs": {"count": {"type": "integer", "minimum": 0}},
}

KINDS: dict[str, dict[str, Any]] = {
    "approval": approval(),
    "approval of a text": approval(artifactData="Dear Ms Wu,\n\n  your order is on its way.\n"),
    "approval of hidden characters": approval(artifactData="safe\u202egnp.exe\u200b"),
    "approval of nothing": approval(["refine", "ask"], artifactData=None),
    "quorum": quorum(),
    "clarification": CLARIFICATION,
    "one question": clarification(("q", "Blue or red?", None)),
    "external event": interrupt_document(
        "external-event", {"eventType": "payment.settled", "correlation": {"order": "A-17"}}
    ),
    "external event with a schema": interrupt_document(
        "external-event",
        {"eventType": "payment.settled", "correlation": {"order": "A-17"}},
        resumeSchema={
            "type": "object",
            "properties": {"order": {"type": "string"}, "amount": {"type": "number"}},
            "required": ["order", "amount"],
        },
    ),
    "custom": interrupt_document("custom", {"customKind": "supplier", "payload": ["north", "south"]}),
    "custom with a schema": interrupt_document("custom", {"customKind": "report"}, resumeSchema=REPORT_SCHEMA),
    "custom with one value": interrupt_document(
        "custom", {"customKind": "n"}, resumeSchema={"type": "integer", "maximum": 5}
    ),
    "exchange": interrupt_document(
        "conversation.exchange", {"conversationId": "c", "prompt": "Hello.\nWhat can we do for you?"}
    ),
    "exchange with a schema": interrupt_document(
        "conversation.exchange", {"conversationId": "c", "prompt": "How was it?", "outcomeSchema": REPORT_SCHEMA}
    ),
    "low confidence": interrupt_document(
        "low-confidence",
        {
            "agentId": "agent.triage",
            "threshold": 0.8,
            "observed": 0.42,
            "decision": {"queue": "refunds", "priority": 2},
        },
    ),
    "low confidence without a decision": interrupt_document(
        "low-confidence", {"agentId": "agent.triage", "threshold": 0.8, "observed": 0.42}
    ),
    "decision of a supervisor": interrupt_document(
        "low-confidence",
        {"agentId": "host:lead", "threshold": 0.7, "observed": 0.5, "decision": {"kind": "terminate"}},
        resumeSchema=ratification_schema(),
    ),
    "odd": interrupt_document("riddle", {"answer": [1, 2, {"deep": None}]}),
    "odd data": interrupt_document("approval", ["no", "object"]),
}
