"""What people are asked about something sensitive: nothing of it is shown, and what they need to answer still is."""

from typing import Any

import msgspec
import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.json import schema
from weftwork.protocol.run.header import RunKey

SECRET = "4711-secret"
HIDDEN = [variable("pin", sensitive=True)]
PIN = {"x": {"type": "variable", "variableName": "pin"}}


async def everything(bench: EngineHarness, key: RunKey) -> bytes:
    """All that anybody can see of a run, with every payload in its shape."""
    events = await bench.events(key)
    for event in events:
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == [], event.type
    listed = await bench.store.queries.list_interrupts(key.partition, InterruptQuery())
    rows = (await bench.stored_run(key)).rows
    return b"".join(
        [*(event.document for event in events), *(row.value for row in rows), *(each.row for each in listed.interrupts)]
    )


async def asked(*nodes: dict[str, Any], edges: list[dict[str, Any]] | None = None) -> tuple[EngineHarness, RunKey]:
    bench = EngineHarness()
    key = await bench.start(workflow(list(nodes), edges or [], HIDDEN), inputs={"pin": SECRET})
    assert SECRET.encode() not in await everything(bench, key)
    return bench, key


async def newest(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    return (await bench.payloads(key, "interrupt.requested"))[-1]["data"]


@pytest.mark.rule("hide-03")
async def test_questions_that_hold_a_secret_keep_their_shape_and_lose_their_words() -> None:
    questions = [
        {"id": "q1", "question": "Is {{variables.pin}} right?", "schema": {"enum": ["yes", "no"]}},
        {"id": "q2", "question": "And now?"},
    ]

    bench, key = await asked(node("ask", "core.clarificationGate", config={"questions": questions}, inputs=PIN))
    shown = await newest(bench, key)
    assert [each["id"] for each in shown["questions"]] == ["q1", "q2"]
    assert await bench.answer(key, {"answers": {"q1": "yes", "q2": f"use {SECRET}"}}) == "completed"
    assert SECRET.encode() not in await everything(bench, key)
    (ended,) = await bench.payloads(key, "clarification.resolved")
    assert set(ended["answers"]) == {"q1", "q2"}


@pytest.mark.rule("hide-03")
async def test_what_stands_in_the_definition_is_shown_beside_what_is_hidden() -> None:
    gate = {"title": "Pay it?", "description": "To {{variables.pin}}", "actions": ["accept", "reject"]}

    bench, key = await asked(node("ask", "core.approvalGate", config=gate, inputs=PIN))
    shown = await newest(bench, key)
    assert (shown["title"], shown["actions"]) == ("Pay it?", ["accept", "reject"])
    assert "REDACTED" in shown["description"]


@pytest.mark.rule("hide-03")
async def test_a_decision_about_a_secret_hides_no_word_that_later_gates_need() -> None:
    first = {"title": "Use {{variables.pin}}?", "approversList": ["alice"], "actions": ["accept", "reject"]}
    second = {**first, "title": "Really?", "actions": ["accept", "edit-accept"]}
    nodes = [node("a", "core.approvalGate", config=first), node("b", "core.approvalGate", config=second)]

    from weftwork.protocol.people.approvals import Answerer

    bench, key = await asked(*nodes, edges=[edge("a", "b")])
    alice = Answerer("key_1", frozenset({"alice"}))
    await bench.answer(key, {"action": "accept", "comment": f"yes, {SECRET}"}, "a", alice)
    for again in (bench, bench.successor()):
        shown = await newest(again, key)
        assert (shown["actions"], shown["approversList"]) == (["accept", "edit-accept"], ["alice"])
    (received,) = await bench.payloads(key, "approval.received")
    assert (received["action"], received["decidedBy"]) == ("accept", "alice")
    await bench.crash()
    bench = bench.successor()
    assert await bench.answer(key, {"action": "accept"}, "b", alice) == "completed"
    assert SECRET.encode() not in await everything(bench, key)
    assert (await bench.payloads(key, "interrupt.resolved"))[-1]["resumeValue"]["action"] == "accept"


async def test_an_event_is_matched_though_its_correlation_is_hidden() -> None:
    ask = node(
        "ask",
        "core.interrupt",
        config={"kind": "external-event", "data": {"eventType": "paid"}},
        inputs={"correlation": {"type": "variable", "variableName": "order"}},
    )
    document = workflow([ask], [], [variable("order", "object", sensitive=True)])

    bench = EngineHarness()
    key = await bench.start(document, inputs={"order": {"id": SECRET}})
    assert SECRET.encode() not in await everything(bench, key)
    assert set((await newest(bench, key))["correlation"]) == {"id"}
    await bench.crash()
    bench = bench.successor()
    assert await bench.answer(key, {"id": SECRET, "more": 1}) == "completed"
    assert SECRET.encode() not in await everything(bench, key)
