"""Envelopes for tests: one good payload of every kind, and what holds for it unless a test says otherwise."""

import copy
import json
from typing import Any

from weftwork.protocol.envelopes.gate import accept, explain
from weftwork.protocol.envelopes.gate_rules import GateRules, RecordedOutcome
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, KindDefinition
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome, Invalid, outcome_document
from weftwork.protocol.privacy.secret_matcher import SecretMatcher

Json = dict[str, Any]
ABSENT = object()
CANARY = "canary-91f7e2"
PLAN = "vendor.acme.plan"
PLAN_SCHEMA: Json = {
    "type": "object",
    "required": ["steps"],
    "properties": {"steps": {"type": "array", "items": {"type": "string"}}, "notes": {"type": "object"}},
    "additionalProperties": False,
}
KINDS = BUILTIN_KINDS.with_kinds([KindDefinition(PLAN, 2, PLAN_SCHEMA)])
"""Those of the protocol, and one that a caller has registered."""

COMPONENTS: list[Json] = [
    {"component": "heading", "text": "Your trip", "level": 2},
    {"component": "text", "text": "Three rooms are free. Choose one and say when you come."},
    {"component": "field.text", "id": "guest", "label": "Name", "placeholder": "as on the card", "required": True},
    {"component": "field.date", "id": "arrival", "label": "First night", "required": True},
    {
        "component": "field.select",
        "id": "room",
        "label": "Room",
        "required": True,
        "options": [{"value": "r1", "label": "By the river"}, {"value": "r2", "label": "By the road"}],
    },
    {"component": "field.checkbox", "id": "breakfast", "label": "With breakfast", "default": True},
    {"component": "action.button", "id": "book", "label": "Book", "action": {"target": "resume"}},
    {"component": "action.button", "id": "ask", "label": "Ask", "action": {"target": "exchange"}},
]
PAYLOADS: Json = {
    "clarification.request": {
        "reasoning": "The day is missing.",
        "questions": [
            {"id": "day", "question": "Which day?", "schema": {"type": "string"}, "context": {"seen": ["May"]}},
            {"id": "seat", "question": "Which seat?"},
        ],
        "contextType": "travel",
    },
    "schema.request": {"reasoning": "Not sure.", "envelopeType": "error", "reason": "to be sure"},
    "schema.response": {"envelopeType": "error", "ack": True},
    "error": {
        "reasoning": "No tool.",
        "code": "no_tool",
        "message": "There is no such tool.",
        "details": {"tool": "t"},
    },
    "media.image": {"url": "https://host.example/a.png", "bytes": 12, "mimeType": "image/png", "alt": "A boat"},
    "media.audio": {"base64": "AAAA", "bytes": 3, "mimeType": "audio/wav", "durationSeconds": 0.5, "alt": "A bell"},
    "media.file": {"url": "https://host.example/a.pdf", "bytes": 0, "name": "a.pdf", "alt": "A bill"},
    "ui.a2ui-surface": {
        "reasoning": "A form is easier.",
        "catalogVersion": "0.9.1",
        "surface": {"title": "Booking", "components": COMPONENTS},
    },
}


def envelope(kind: str = "error", payload: Any = None, **more: Any) -> Json:
    """An envelope that is good, or as good as the given payload and members."""
    document: Json = {
        "type": kind,
        "schemaVersion": 1,
        "envelopeId": "env-1",
        "correlationId": "run-1:node-1:0",
        "payload": copy.deepcopy(PAYLOADS.get(kind)) if payload is None else payload,
        "meta": {"source": "ai-generation", "ts": "2026-01-31T08:05:09.042Z"},
    }
    return {name: member for name, member in {**document, **more}.items() if member is not ABSENT}


def with_meta(**more: Any) -> Json:
    return envelope(meta={"source": "ai-generation", "ts": "2026-01-31T08:05:09Z", **more})


def rules(**more: Any) -> GateRules:
    return GateRules(**{"kinds": KINDS, **more})


def with_secrets(**secrets: str) -> SecretMatcher:
    """Secrets by their ids."""
    made = SecretMatcher()
    for name, value in secrets.items():
        made.learn_secret(name, value)
    return made


def with_record(known: dict[str, RecordedOutcome]) -> GateRules:
    return rules(find_recorded=known.get)


def with_value(document: Any, pointer: str, value: Any) -> Any:
    """A copy with the value at the pointer set, or taken away."""
    changed = copy.deepcopy(document)
    *parents, last = pointer.split("/")[1:]
    holder: Any = changed
    for token in parents:
        holder = holder[int(token) if isinstance(holder, list) else token]
    key: Any = int(last) if isinstance(holder, list) else last
    if value is ABSENT:
        del holder[key]
    else:
        holder[key] = value
    return changed


def accept_outcome(document: Any, held: GateRules | None = None) -> EnvelopeOutcome:
    return accept(document, held or rules()).outcome


def accept_recorded(document: Any, held: GateRules) -> EnvelopeOutcome:
    """The outcome of what was recorded before."""
    verdict = accept(document, held)
    assert verdict.repeated
    return verdict.outcome


def refusal_of(document: Any, held: GateRules | None = None) -> Invalid:
    outcome = accept_outcome(document, held)
    assert isinstance(outcome, Invalid), outcome
    return outcome


SECRETS = {"key": CANARY, "token": f"{CANARY}-long", "quoted": f'"{CANARY}\n"', "bell": "♪bell♪"}
"""All of them hold the canary but one, which JSON may write in two ways."""
CONTEXT_WITH_SECRETS = with_secrets(**SECRETS)


def check_no_canary(document: Any, held: GateRules) -> None:
    verdict, said = explain(document, held)
    shown = json.dumps(outcome_document(verdict.outcome), ensure_ascii=False)
    for each in (shown, str(verdict), str(said)):
        assert CANARY not in each
        assert "♪bell♪" not in each
