"""The examples of the reference page, with real expressions: they do what the page says."""

import hashlib
from typing import Any

import pytest

from tests.adapters.nodes.ai.fake_model_context import FakeModelContext
from tests.adapters.nodes.fake_context import TYPES, EvaluatingScope, new_child, node_call, run_node
from weftwork.adapters.nodes.builtin import ALIASES
from weftwork.adapters.nodes.people.conversation_gate import MOCK_ANSWER
from weftwork.conformance.nodes.media_emit import sample_media
from weftwork.conformance.nodes.mock_agent import SUMMARY
from weftwork.ports.node_outcome import (
    AppendLog,
    AwaitsChildren,
    Completed,
    EmitArtifact,
    EmitEvent,
    Failed,
    NodeOutcome,
    SetVariable,
    StartChild,
    Suspended,
    WriteChannel,
)
from weftwork.ports.nodes import Arrival
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.template import parse_template
from weftwork.protocol.json.pointers import split_pointer
from weftwork.protocol.run.events import ORCHESTRATOR_DECIDED
from weftwork.protocol.run.interrupts import Interrupt

ORDER = {"id": "o-7", "total": 120, "country": "DE", "missing": ["bolts"]}
PEOPLE = [{"name": "Ada"}, {"name": "Bob"}]
RUN = {"city": "Bern", "state": "new", "attempts": 1, "month": "May", "order": ORDER, "people": PEOPLE}
INVOICE = {
    "artifactId": "node",
    "artifactType": "invoice",
    "title": "Pay invoice 17?",
    "actions": ["accept", "reject"],
    "requiredApprovals": 2,
    "approversList": ["ada", "bob", "eve"],
    "artifactData": {"number": 17},
}
QUESTIONS = [
    {"id": "when", "question": "When shall o-7 be delivered?"},
    {"id": "amount", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
]
PAID = {"eventType": "shop.order.paid", "correlation": {"orderId": "o-7"}}
TOTAL = {"total": 5}
SEARCH = {"kind": "next-worker", "nextWorkerIds": ["search"]}
MOCK = {"agentId": "host:mock-agent:node"}
CHILD = new_child("child", "check-order", {"order": ORDER}, variables=("verdict",), outputs=True)
TOLD = {
    "model": "scripted-1",
    "finishReason": "stop",
    "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
}
SPOKEN = {
    "core.ai.callPrompt": "The lamp is broken.",
    "core.ai.chatCompletion": "We do.",
    "core.ai.structuredOutput": '{"article": "chair", "amount": 2}',
    "core.ai.generateEnvelope": '{"type": "vendor.example.ticket", "payload": '
    '{"title": "Broken lamp", "urgent": true}}',
}
"""What the model says in the examples that ask one."""

ANSWERS: dict[str, tuple[dict[str, Any], NodeOutcome]] = {
    "core.start": ({"order": ORDER}, Completed({"order": ORDER})),
    "core.end": (TOTAL, Completed(TOTAL)),
    "core.parallel": ({"input": 1}, Completed({"input": 1, "output": 1})),
    "core.conditional": ({"input": ORDER}, Completed({"result": True, "output": ORDER, "true": ORDER})),
    "core.switch": ({"input": ORDER}, Completed({"value": "DE", "output": ORDER, "neighbour": ORDER})),
    "core.loop": ({}, Completed({"iteration": 0, "body": 0})),
    "core.merge": ({}, Completed({"output": [1, 2]})),
    "core.wait": ({}, Completed({"until": "2027-01-01T08:00:00.000Z"})),
    "core.approvalGate": (
        {"artifactData": {"number": 17}},
        Suspended(Interrupt("approval", "node", INVOICE, None, 259_200_000, (86_400_000, 172_800_000))),
    ),
    "core.clarificationGate": (
        {},
        Suspended(Interrupt("clarification", "node", {"questions": QUESTIONS}, timeout_ms=86_400_000)),
    ),
    "core.interrupt": (
        {"correlation": {"orderId": "o-7"}},
        Suspended(Interrupt("external-event", "node", PAID, timeout_ms=3_600_000)),
    ),
    "core.conversationGate": (
        {},
        Completed(
            {
                "conversationId": "run:node:0",
                "turns": [
                    {"turnIndex": 1, "prompt": "When do you leave?", "answer": MOCK_ANSWER},
                    {
                        "turnIndex": 2,
                        "prompt": f"You said {MOCK_ANSWER}. When do you come back?",
                        "answer": MOCK_ANSWER,
                    },
                ],
                "outcome": MOCK_ANSWER,
            }
        ),
    ),
    "core.setVariable": ({"value": 2}, Completed({"output": 2}, (SetVariable("attempts", 2),))),
    "core.getVariable": ({}, Completed({"output": "en"})),
    "core.channelWrite": (
        {},
        Completed({"output": "arrived"}, (WriteChannel("events", "arrived", "append"),)),
    ),
    "core.transform": (
        {"input": {"first": "Ada", "last": "Byron", "age": 36}},
        Completed({"name": "Ada Byron", "adult": True}),
    ),
    "core.template": (
        {"input": {"name": "Ada"}},
        Completed({"output": "Dear Ada, your order has arrived."}),
    ),
    "core.filter": ({"items": [{"price": 5}, {"price": 10}]}, Completed({"output": [{"price": 5}], "count": 1})),
    "core.aggregate": (
        {"items": [{"price": 2.5, "amount": 2}, {"price": 1, "amount": 3}]},
        Completed({"output": 8, "count": 2}),
    ),
    "core.flow.map": (
        {"items": PEOPLE},
        Completed({"results": ["Ada is number 0", "Bob is number 1"], "count": 2}),
    ),
    "core.subWorkflow": ({}, AwaitsChildren((StartChild(CHILD),))),
    "core.orchestrator.supervisor": (
        {},
        Completed(
            {"decision": SEARCH, "kind": "next-worker", "iteration": 0},
            (EmitEvent(ORCHESTRATOR_DECIDED, {"agentId": "host:supervisor", "decision": SEARCH}, event_id="event"),),
        ),
    ),
    # What it does about a decision is in test_dispatch.
    "core.dispatch": (
        {},
        Failed("no_pending_decision", "There is no decision of a supervisor to carry out.", retryable=False),
    ),
    "core.conformance.mock-agent": (
        {},
        Completed(
            {"decision": {"next": "done"}},
            (
                EmitEvent("agent.reasoned", {**MOCK, "verbosity": "summary", "reasoning": SUMMARY, "summary": SUMMARY}),
                EmitEvent("agent.decided", {**MOCK, "decision": {"next": "done"}, "confidence": 0.9}),
            ),
        ),
    ),
    "core.log": (
        {"input": ORDER},
        Completed({"output": ORDER}, (AppendLog("warn", "Order o-7 waits for stock", {"missing": ["bolts"]}),)),
    ),
    "core.artifact.emit": (
        {"data": "text"},
        Completed(
            {"artifactId": "node", "artifactType": "report", "output": "text"},
            (EmitArtifact("node", "report", "text", "Report for May"),),
        ),
    ),
    "core.media.emit": (
        {"order": ORDER},
        Completed(
            {
                "mediaRef": "weftwork-asset:" + hashlib.sha256(b"Order;Total\no-7;120\n").hexdigest(),
                "url": "https://media.test/1",
                "bytes": 20,
                "mimeType": "text/csv",
                "envelopeId": "env-1",
                "rendering": {"display": "file", "mimeType": "text/csv"},
            }
        ),
    ),
    "conformance.media.emit": (
        {},
        Completed(
            {
                "mediaRef": "weftwork-asset:" + hashlib.sha256(sample_media("image", 4096)).hexdigest(),
                "url": "https://media.test/1",
                "bytes": 4096,
                "mimeType": "image/png",
                "envelopeId": "env-1",
                "rendering": {"display": "image", "mimeType": "image/png"},
            }
        ),
    ),
    # What it sends with a client is in tests/outbound.
    "core.http.request": (
        {"order": ORDER},
        Failed("fetch_failed", "This host sends no requests.", retryable=False),
    ),
    "core.ai.callPrompt": (
        {"letter": "It does not work."},
        Completed({"text": "The lamp is broken.", "content": "The lamp is broken.", **TOLD}),
    ),
    "core.ai.chatCompletion": (
        {"messages": [{"role": "user", "content": "Do you sell seeds?"}]},
        Completed({"content": "We do.", "message": {"role": "assistant", "content": "We do."}, **TOLD}),
    ),
    "core.ai.structuredOutput": (
        {"mail": "Two chairs, please."},
        Completed({"data": {"article": "chair", "amount": 2}, **TOLD}),
    ),
    "core.ai.generateEnvelope": (
        {"complaint": "It does not work!"},
        Completed(
            {
                "envelopeType": "vendor.example.ticket",
                "payload": {"title": "Broken lamp", "urgent": True},
                "envelopeId": "env-67d0ded6edd16ba2ecd009b9780a4d85",
                "contentTrust": "trusted",
                **TOLD,
            }
        ),
    ),
    # What it asks with templates is in test_mock_ai.
    "local.sample.demo.mock-ai": (
        {},
        Failed(
            "prompt_ref_unresolved",
            "This host has no prompt template prompt:conformance.prompt.writer-system@1.0.0.",
            {"ref": "prompt:conformance.prompt.writer-system@1.0.0"},
            retryable=False,
        ),
    ),
    "local.sample.demo.uppercase": ({"text": "hello"}, Completed({"text": "HELLO", "output": "HELLO"})),
}


def test_every_example_is_tried() -> None:
    shown = {type_id for type_id, each in TYPES.items() if each.declaration.example_config is not None}
    assert shown <= ANSWERS.keys()
    assert not shown & ALIASES.keys()


@pytest.mark.parametrize("type_id", ANSWERS)
def test_an_example_does_what_it_says(type_id: str) -> None:
    inputs, answer = ANSWERS[type_id]
    declaration = TYPES[type_id].declaration
    assert declaration.example_config is not None
    assert declaration.example_inputs.keys() <= inputs.keys()
    scope = EvaluatingScope({}, RUN)
    context = FakeModelContext(
        SPOKEN.get(type_id, ""), scope=scope, kinds=[KindDefinition("vendor.example.ticket", 1, {})]
    )
    context.clock.advance(366 * 86_400_000)
    arrivals = (Arrival("a", "output", 1), Arrival("b", "output", 2))
    assert run_node(type_id, node_call(declaration.example_config, inputs, scope, arrivals=arrivals), context) == answer


def found(value: Any, path: list[str]) -> list[str]:
    """The texts that a pointer pattern leads to."""
    if not path:
        return [value]
    if isinstance(value, list):
        members = value if path[0] == "*" else []
    else:
        members = value.values() if path[0] == "*" else [value[path[0]]] if path[0] in value else []
    return [text for member in members for text in found(member, path[1:])]


@pytest.mark.parametrize("type_id", ANSWERS)
def test_the_expressions_of_an_example_use_the_declared_names_only(type_id: str) -> None:
    """So a definition like it can be checked when it is registered."""
    declaration = TYPES[type_id].declaration
    for pointer, names in declaration.expressions.items():
        for source in found(declaration.example_config, split_pointer(pointer)):
            parse_expression(source, ("ports", *names))
    for pointer, names in declaration.templates.items():
        for text in found(declaration.example_config, split_pointer(pointer)):
            parse_template(text, ("ports", *names))
    for port in declaration.example_inputs.values():
        if port["type"] == "expression":
            parse_expression(port["expression"])
