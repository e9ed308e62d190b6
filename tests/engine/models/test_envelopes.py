"""Envelopes on the live path: validated once, one outcome each, recorded in one commit with what its handler does."""

import asyncio
import json
from base64 import b64encode
from typing import Any

import msgspec
import pytest

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, header_of, node, plan_of, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.engine.decide import envelopes
from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.inputs import EnvelopeEmitted, ModelAnswered
from weftwork.engine.media.node_media import EntryMediaStore
from weftwork.engine.models import envelope_gate
from weftwork.engine.sdk import generation
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import Emission, NodeCall, NodeContext, WaitingNode
from weftwork.protocol.envelopes import checks, validator
from weftwork.protocol.envelopes.checks import ENVELOPE_VALIDATOR
from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, EnvelopeContract
from weftwork.protocol.envelopes.handling import JudgedEnvelope, clarification_interrupt
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, KindDefinition
from weftwork.protocol.envelopes.outcome import Accepted, outcome_document
from weftwork.protocol.envelopes.validator import DocumentValidator
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.run import model_payloads
from weftwork.protocol.run.events import CANCEL_REQUESTED, Event, Fact
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.testing import FakeModel, NodeResult, RunResult, run_node, run_workflow

PLAN = KindDefinition("vendor.acme.plan", 1, {"type": "object", "required": ["steps"], "properties": {"steps": {}}})
ASKS = {"type": "clarification.request", "schemaVersion": 1, "payload": {"questions": [{"id": "q", "question": "?"}]}}
GOOD = {"type": "vendor.acme.plan", "schemaVersion": 1, "payload": {"steps": [1]}}
ERROR = {"type": "error", "payload": {"code": "no_data", "message": "Nothing there."}}
WANTS = {"type": "schema.request", "payload": {"envelopeType": "vendor.acme.plan"}}
ONE = workflow([node("a", "test.send")])


def sending(
    *documents: Any, contract: EnvelopeContract = OPEN_CONTRACT, then: asyncio.Event | None = None
) -> WaitingNode:
    """A node whose model sends these envelopes in one turn, and which gives what becomes of them."""

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        outcomes: list[Any] = []
        for index, document in enumerate(documents):
            outcome = await context.emit_envelope(document, Emission("0", index, 0, contract, (PLAN,)))
            outcomes.append(outcome_document(outcome))
            if isinstance(outcome, Accepted) and outcome.type == "clarification.request":
                outcomes.append((await context.ask(clarification_interrupt(outcome))).value)
        if then is not None:
            await then.wait()
        return Completed({"outcomes": outcomes})

    return WaitingNode(NodeDeclaration("test.send", "For one test.", effect="idempotent", instant=False), body)


async def outcomes(bench: EngineHarness, key: RunKey) -> list[Any]:
    return (await bench.payloads(key, "node.completed"))[0]["outputs"]["outcomes"]


@pytest.mark.rule("env-23", "env-24")
@pytest.mark.parametrize(
    ("document", "level"), [(GOOD, None), (ERROR, "error"), (WANTS, "debug")], ids=["vendor", "error", "schema"]
)
async def test_an_envelope_is_recorded_with_what_its_kind_does(document: dict[str, Any], level: str | None) -> None:
    bench, key = await EngineHarness(sending(document)).with_ended_run(ONE)
    assert (await outcomes(bench, key))[0]["status"] == "accepted"
    logs = await bench.payloads(key, "log.appended")
    assert [each["level"] for each in logs] == ([level] if level else [])
    expected = ["weftwork.envelope.recorded", *(["log.appended"] if level else [])]
    caused = [event for event in await bench.events(key) if event.causation_id is not None]
    assert [(event.type, event.content_trust) for event in caused] == [(kind, "trusted") for kind in expected]
    assert await bench.status(key) == "completed"


@pytest.mark.rule("env-22")
async def test_a_clarification_waits_in_the_commit_that_records_it() -> None:
    payload = {
        "reasoning": "I do not know.",
        "questions": [
            {"id": "b", "question": "Who?", "context": {"x": 1}, "schema": {"type": "string"}},
            {"id": "a", "question": "When?", "schema": {"$ref": "http://example.org/x"}},
        ],
        "contextType": "order",
    }
    bench, key = await EngineHarness(sending({**ASKS, "payload": payload})).with_run(ONE)
    for _ in range(200):
        if await bench.status(key) == "waiting-input":
            break
        await run_ready_tasks()
    events = await bench.events(key)
    kinds = [event.type for event in events]
    together = ["weftwork.envelope.recorded", "interrupt.requested", "clarification.requested", "node.suspended"]
    assert kinds[2:] == together
    assert {event.causation_id for event in events[2:]} == {events[2].causation_id}
    asked = (await bench.payloads(key, "interrupt.requested"))[0]
    assert asked["data"] == {
        "questions": [{"id": "b", "question": "Who?", "schema": {"type": "string"}}, {"id": "a", "question": "When?"}],
        "contextType": "order",
    }
    assert (await bench.payloads(key, "weftwork.envelope.recorded"))[0]["payload"] == payload
    await bench.crash()
    bench = bench.successor()
    await bench.answer(key, {"answers": {"b": "Ann", "a": "now"}}, "a")
    await bench.run_to_end(key)
    assert (await outcomes(bench, key))[1] == {"answers": {"b": "Ann", "a": "now"}}
    assert [(await bench.event_types(key)).count(kind) for kind in together] == [1] * 4


@pytest.mark.rule("env-25", "env-23")
@pytest.mark.parametrize("mode", ["fail-node", "discard-and-warn"])
async def test_a_kind_that_the_node_does_not_take_is_set_aside(mode: Any) -> None:
    bench = EngineHarness(sending(GOOD, contract=EnvelopeContract(frozenset({"vendor.acme.other"}), mode)))
    key = await bench.execute(ONE)
    (outcome,) = await outcomes(bench, key)
    assert (outcome["status"], outcome["gate"]["code"]) == ("gated", "envelope_contract_violation")
    (record,) = await bench.payloads(key, "weftwork.envelope.recorded")
    assert (record["status"], record["refusalMode"]) == ("gated", mode)
    logs = [each["level"] for each in await bench.payloads(key, "log.appended")]
    assert logs == (["warn"] if mode == "discard-and-warn" else [])


@pytest.mark.rule("env-23")
async def test_one_envelope_too_many_is_a_breach_and_no_end_of_the_run() -> None:
    bench, key = await EngineHarness(sending(*[GOOD] * 7)).with_ended_run(ONE)
    assert [each["status"] for each in await outcomes(bench, key)] == ["accepted"] * 5 + ["breached"] * 2
    breaches = await bench.payloads(key, "cap.breached")
    assert breaches[0] == {"kind": "envelopes", "limit": 5, "observed": 6}
    assert await bench.status(key) == "completed"


@pytest.mark.rule("env-26")
async def test_the_same_envelope_again_gets_the_recorded_outcome_and_another_kind_a_conflict() -> None:
    first = {**GOOD, "correlationId": "c-1", "envelopeId": "e-1"}
    again = {**first, "envelopeId": "e-2", "payload": {"steps": [2]}}
    bench, key = await EngineHarness(sending(first, again, {**ERROR, "correlationId": "c-1"})).with_ended_run(ONE)
    one, two, three = await outcomes(bench, key)
    assert one == two
    assert one["envelopeId"].startswith("env-")
    assert one["redactedPayload"] == {"steps": [1]}
    assert three["status"] == "invalid"
    assert three["reason"].startswith("envelope_correlation_conflict")
    assert len(await bench.payloads(key, "weftwork.envelope.recorded")) == 1


@pytest.mark.rule("env-20")
async def test_an_id_that_a_model_likes_is_its_own_in_every_node_and_turn() -> None:
    bench = EngineHarness(sending({**GOOD, "correlationId": "1", "envelopeId": "1"}))
    key = await bench.execute(workflow([node("a", "test.send"), node("b", "test.send")]))
    records = await bench.payloads(key, "weftwork.envelope.recorded")
    assert len({each["correlationId"] for each in records}) == 2
    assert len({each["envelopeId"] for each in records}) == 2


def without_known_envelopes(state: RunState, given: EnvelopeEmitted, real: Any = envelopes.record_envelope) -> Decision:
    known, state.envelopes = state.envelopes, {}
    try:
        return real(state, given)
    finally:
        state.envelopes = known


@pytest.mark.rule("env-26")
@fails_without("weftwork.engine.decide.transitions.record_envelope", without_known_envelopes)
async def test_what_is_sent_twice_at_once_is_put_in_order() -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await asyncio.gather(*(context.emit_envelope(ERROR, Emission()) for _ in range(3)))
        return Completed({})

    declared = NodeDeclaration("test.send", "For one test.", effect="idempotent", instant=False)
    bench, key = await EngineHarness(WaitingNode(declared, body)).with_ended_run(ONE)
    assert len(await bench.payloads(key, "log.appended")) == 1


@pytest.mark.rule("env-26")
async def test_a_crash_after_the_record_runs_no_handler_again() -> None:
    held = asyncio.Event()
    bench, key = await EngineHarness(sending(ERROR, GOOD, then=held)).with_run(ONE)
    for _ in range(3):
        for _ in range(50):
            await run_ready_tasks()
        bench = await bench.restart()
    held.set()
    await bench.run_to_end(key)
    assert len(await bench.payloads(key, "log.appended")) == 1
    assert len(await bench.payloads(key, "weftwork.envelope.recorded")) == 2


@pytest.mark.rule("env-23")
async def test_a_kind_that_the_contract_names_becomes_an_artifact() -> None:
    bench = EngineHarness(sending(GOOD, contract=EnvelopeContract(None, artifacts=frozenset({PLAN.name}))))
    key = await bench.execute(ONE)
    (made,) = await bench.payloads(key, "artifact.created")
    assert (made["artifactType"], made["data"]) == (PLAN.name, {"steps": [1]})


@pytest.mark.rule("env-26")
async def test_of_a_node_that_has_ended_it_is_known_what_it_sent_and_not_what_was_in_it() -> None:
    held = asyncio.Event()
    bench, key = await EngineHarness(sending(GOOD, then=held)).with_run(ONE)
    while not (running := (await bench.state(key)).envelopes):
        await run_ready_tasks()
    assert [getattr(each.outcome, "payload", None) for each in running.values()] == [{"steps": [1]}]
    held.set()
    await bench.run_to_end(key)
    ended = (await bench.state(key)).envelopes
    assert [(each.type, getattr(each.outcome, "payload", "")) for each in ended.values()] == [(PLAN.name, None)]
    assert ended.keys() == running.keys()


SECRET = "swordfish-9000"


@pytest.mark.rule("env-23")
async def test_secrets_of_the_run_are_gone_from_the_payload_for_everyone() -> None:
    sent_outcomes = {"type": "connection", "nodeId": "a", "outputKey": "outcomes"}
    document = workflow(
        [node("a", "test.send"), node("b", "core.identity", inputs={"in": sent_outcomes})],
        [edge("a", "b")],
        variables=[{"name": "word", "type": "string", "sensitive": True}],
    )
    sent = {**ERROR, "payload": {"code": "c", "message": f"{SECRET}, {SECRET}", "details": {SECRET: [SECRET]}}}
    bench, key = await EngineHarness(sending(sent)).with_run(document, inputs={"word": SECRET})
    events: list[Event] = await bench.run_to_end(key)
    (outcome,) = await outcomes(bench, key)
    assert outcome["redactedPayload"]["message"] == "[REDACTED:word], [REDACTED:word]"
    assert outcome["redactionCount"] == 4
    assert not [event.type for event in events if SECRET.encode() in event.payload]
    state = await bench.state(key)
    assert SECRET not in msgspec.json.encode(state.nodes["b"].outputs).decode()


async def test_markers_count_for_the_size_of_a_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope_gate, "is_too_large", lambda value: len(str(value)) > 600)
    document = workflow([node("a", "test.send")], variables=[{"name": "w", "type": "string", "sensitive": True}])
    bench = EngineHarness(sending({**GOOD, "payload": {"steps": ["abcd"] * 50}}))
    key = await bench.execute(document, inputs={"w": "abcd"})
    (outcome,) = await outcomes(bench, key)
    assert (outcome["status"], outcome["reason"]) == ("invalid", envelope_gate.PAYLOAD_TOO_LARGE.reason)


@pytest.mark.rule("env-16")
@fails_without(envelope_gate, "is_partial", lambda document: False)
async def test_a_piece_alone_is_refused() -> None:
    piece = {**GOOD, "correlationId": "c", "partial": {"isPartial": True, "index": 0, "total": 2}}
    bench, key = await EngineHarness(sending(piece)).with_ended_run(ONE)
    assert (await outcomes(bench, key))[0]["status"] == "invalid"


def test_nothing_is_decided_twice_or_for_a_run_that_is_to_end() -> None:
    plan = plan_of(workflow([node("a")]))
    state = RunState(plan, header_of(plan), {})
    apply(state, Fact(0, "run.started", {}, 1))
    apply(state, Fact(1, "node.started", {"typeId": "core.noop"}, 1, "a"))
    answered = ModelAnswered("a", model_payloads.ModelAnswered("a", "/0.0"), (), None)
    accepted = Accepted("error", "e", "c", {"code": "c", "message": "m"})
    sent = EnvelopeEmitted("a", JudgedEnvelope("a", "error", "c", "e", accepted), OPEN_CONTRACT, None, None)
    (kept,) = envelopes.record_answer(state, answered).events
    assert envelopes.record_envelope(state, sent).events
    apply(state, Fact(2, kept.type, kept.payload, 1, "a"))
    assert envelopes.record_answer(state, answered).events == ()
    apply(state, Fact(3, CANCEL_REQUESTED, {}, 1))
    assert envelopes.record_envelope(state, sent).events == ()


async def test_a_question_of_an_item_makes_its_map_answer_for_it() -> None:
    body = {"typeId": "test.send", "config": {}}
    mapped = node("m", "core.flow.map", config={"body": body}, inputs={"items": {"type": "static", "value": [1]}})
    bench, key = await EngineHarness(sending(ASKS)).with_ended_run(workflow([mapped]))
    assert await bench.payloads(key, "interrupt.requested") == []
    assert "map_body_suspended" in str((await bench.payloads(key, "node.failed"))[0]["error"])


SCHEMA = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
TICKET = weftwork.EnvelopeKind("vendor.acme.ticket", schema=SCHEMA)
PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 100
BASE64 = b64encode(PNG).decode()
MADE = {"type": "vendor.acme.ticket", "payload": {"title": "Lamp"}}
DRAWN = {"type": "media.image", "payload": {"base64": BASE64, "bytes": 1, "mimeType": "image/png", "alt": "A"}}
ASKED = {"userMessage": "Go on.", "envelopeType": "vendor.acme.ticket"}


@weftwork.node("acme.ticket")
async def ticket(ctx: weftwork.Context) -> Any:
    return (await ctx.generate_envelope(TICKET, "Go on.")).payload


@weftwork.node("acme.show")
async def show(ctx: weftwork.Context) -> Any:
    return await ctx.emit_image(PNG, alt="A")


@weftwork.node("acme.copy")
async def copy(ctx: weftwork.Context) -> Any:
    shown = await ctx.emit_image(PNG, alt="A", name="a.png")
    return (await ctx.generate_envelope("media.image", shown.url)).payload


def generated(*documents: Any, limits: Limits | None = None, **config: Any) -> RunResult:
    flow = single_node_workflow("one", "core.ai.generateEnvelope", config={**ASKED, **config})
    model = FakeModel(["\n".join(map(json.dumps, documents))])
    return run_workflow(flow, model=model, kinds=[TICKET], limits=limits)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often a document was held against the schema of envelopes, and a payload against that of its kind."""
    found = {"shape": 0, "payload": 0}
    is_valid = DocumentValidator.is_valid

    def counted(self: DocumentValidator, value: Any) -> bool:
        found["shape" if self is ENVELOPE_VALIDATOR else "payload"] += 1
        return is_valid(self, value)

    monkeypatch.setattr(DocumentValidator, "is_valid", counted)
    return found


@pytest.mark.rule("env-04", "env-06")
@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: generated(MADE), 1),
        (lambda: generated(MADE, {**MADE, "correlationId": "2"}), 2),
        (lambda: generated(DRAWN, envelopeType="media.image"), 1),
        (lambda: run_node(ticket, model=FakeModel([json.dumps(MADE)]), kinds=[TICKET]), 1),
        (lambda: run_node(show), 1),
        (lambda: run_workflow(single_node_workflow("one", "core.media.emit", config={"kind": "file", "text": "a"})), 1),
    ],
    ids=["plain", "two", "media", "ctx.generate_envelope", "ctx.emit_image", "core.media.emit"],
)
def test_schemas_are_applied_once_to_each_envelope(work: Any, expected: int, counts: dict[str, int]) -> None:
    assert work().error is None
    assert counts == {"shape": expected, "payload": expected}


@pytest.mark.rule("surf-03")
def test_the_limits_of_a_surface_are_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []
    check = checks.check_limits

    def counted(payload: Any, at: str) -> Any:
        checked.append(payload)
        return check(payload, at)

    monkeypatch.setattr(checks, "check_limits", counted)
    surface = {"components": [{"component": "text", "text": "Done."}]}
    payload = {"catalogVersion": "0.9.1", "surface": surface}
    shown = {"type": "ui.a2ui-surface", "schemaVersion": 1, "payload": payload}
    assert generated(shown, envelopeType="ui.a2ui-surface").error is None
    assert checked == [payload]


def test_an_answer_that_is_sent_back_is_validated_once_too(counts: dict[str, int]) -> None:
    model = FakeModel([json.dumps({**MADE, "payload": {}}), json.dumps(MADE)])
    assert run_node(ticket, model=model, kinds=[TICKET]).error is None
    assert counts == {"shape": 2, "payload": 2}


def test_the_schema_of_a_value_is_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []
    check = generation.check_value

    def counted(schema: Any, value: Any, at: str) -> Any:
        checked.append(value)
        return check(schema, value, at)

    monkeypatch.setattr(generation, "check_value", counted)
    monkeypatch.setattr(validator, "check_value", counted)
    config = {"prompt": "Go on.", "outputSchema": SCHEMA}
    flow = single_node_workflow("one", "core.ai.structuredOutput", config=config)
    assert run_workflow(flow, model=FakeModel(['{"title": "Lamp"}'])).error is None
    assert checked == [{"title": "Lamp"}]


def unfit(result: NodeResult | RunResult) -> list[Any]:
    """Recorded payloads of envelopes that do not fit the schema of their kind."""
    assert result.error is None
    recorded = [event.payload for event in result.events if event.type == "weftwork.envelope.recorded"]
    assert recorded
    kinds = BUILTIN_KINDS.with_kinds([TICKET.kind])
    found = [(each["payload"], kinds.find(each["type"])) for each in recorded]
    return [payload for payload, kind in found if kind is None or not kind.validator.is_valid(payload)]


@pytest.mark.rule("media-86")
@pytest.mark.parametrize("limit", [1, 10_000], ids=["by-url", "inline"])
def test_media_that_the_host_has_stored_fit_their_schema(limit: int) -> None:
    assert unfit(generated(DRAWN, envelopeType="media.image", limits=Limits(max_inline_media_bytes=limit))) == []


@pytest.mark.rule("media-86")
def test_an_asset_that_a_model_shows_again_fits_its_schema() -> None:
    def again(request: Any) -> str:
        url = request.messages[-1].content
        return json.dumps({"type": "media.image", "payload": {"url": url, "bytes": 1, "mimeType": "image/png"}})

    assert unfit(run_node(copy, model=FakeModel(again))) == []


def test_a_store_that_made_something_else_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = EntryMediaStore.store_inline

    async def sloppy(self: EntryMediaStore, document: Any) -> Any:
        stored = await store(self, document)
        return {**stored, "payload": {**stored["payload"], "bytes": "many"}}

    monkeypatch.setattr(EntryMediaStore, "store_inline", sloppy)
    assert unfit(generated(DRAWN, envelopeType="media.image")) != []
