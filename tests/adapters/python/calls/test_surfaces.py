"""ctx.ask_surface, ctx.show_surface, and surfaces as the forms of other interrupts, on the real engine."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.live.in_process_host import InProcessHost, open_in_process
from tests.live.workflows import chain
from weftwork import surface
from weftwork.engine.nodes import interrupt_form, node_call
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.testing import TIMEOUT, crash_everywhere, run_node, run_workflow

MODULE = "tests.adapters.python.calls.test_surfaces"
FORM = surface.form(
    surface.text_field("who", "Who comes?", required=True),
    surface.checkbox("window", "Window seat"),
    surface.button("book", "Book"),
    surface.button("cancel", "Cancel"),
    title="A trip",
)
NOTE = surface.form(surface.text("Booked."))
DECISION = surface.form(
    surface.text_field("comment", "Comment"), surface.button("accept", "Pay"), surface.button("reject", "Do not pay")
)
QUESTIONS = surface.form(surface.text_field("size", "Size?", required=True), surface.button("go", "Send"))
TURN = surface.form(surface.text_field("city", "Where to?"), surface.button("say", "Say", target="exchange"))
ANSWER = {"action": "book", "who": "Ada", "window": True}


@weftwork.node("acme.trip")
async def trip(ctx: weftwork.Context) -> Any:
    await ctx.show_surface(NOTE)
    answer = await ctx.ask_surface("trip", FORM, timeout=3600)
    again = await ctx.show_surface(surface.form(surface.text(f"Booked for {answer.values['who']}.")))
    return {"action": answer.action, "values": answer.values, "shown": again}


@weftwork.node("acme.plain-trip")
def plain_trip(ctx: weftwork.PlainContext) -> Any:
    return ctx.ask_surface("trip", surface.to_json(FORM))


@weftwork.node("acme.pay")
async def pay(ctx: weftwork.Context) -> Any:
    return await ctx.approve("pay", "Pay?", surface=DECISION)


@weftwork.node("acme.details")
async def details(ctx: weftwork.Context) -> Any:
    return await ctx.clarify("details", {"size": "Which size?"}, surface=QUESTIONS)


@weftwork.node("acme.talk")
async def talk(ctx: weftwork.Context) -> Any:
    known = {"conversationId": ctx.run_id}
    await ctx.interrupt("open", {**known, "title": "Trip"}, kind="conversation.start")
    return await ctx.interrupt("turn", {**known, "prompt": "Where?"}, kind="conversation.exchange", surface=TURN)


@pytest.fixture
async def host() -> AsyncIterator[InProcessHost]:
    names = ("trip", "plain-trip", "pay", "details", "talk")
    flows = [chain(name, [node(name, f"acme.{name}")]) for name in names]
    async with open_in_process(*flows, nodes=(MODULE,)) as inside:
        yield inside


async def waiting_run(host: InProcessHost, name: str) -> tuple[str, dict[str, Any]]:
    """A new run that waits for an answer, and its open interrupt."""
    run_id = (await host.call("POST", "/v1/runs", {"workflowId": name})).document["runId"]
    await events_until(host, run_id, "node.suspended")
    listed = await host.call("GET", f"/v1/runs/{run_id}/interrupts")
    (found,) = listed.document["interrupts"]
    return run_id, found


async def events_until(host: InProcessHost, run_id: str, *kinds: str) -> list[dict[str, Any]]:
    """The events of a run up to the first of these types."""
    events: list[dict[str, Any]] = []
    for _ in range(50):
        last = events[-1]["sequence"] if events else -1
        path = f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=10"
        page = (await host.call("GET", path)).document
        events += page["events"]
        if any(each["type"] in kinds for each in events):
            return events
        assert not page["isComplete"], events[-1]
    raise AssertionError(events)


async def respond(host: InProcessHost, run_id: str, name: str, value: Any) -> int:
    path = f"/v1/runs/{run_id}/interrupts/{name}"
    return (await host.call("POST", path, {"resumeValue": value})).status


async def outputs_after(host: InProcessHost, run_id: str, name: str, value: Any) -> Any:
    assert await respond(host, run_id, name, value) == 200
    events = await events_until(host, run_id, "run.completed", "run.failed")
    assert events[-1]["type"] == "run.completed", events[-1]
    return events[-1]["payload"]["outputs"][name]


def unrecorded(*arguments: Any) -> Any:
    interrupt = arguments[-1].interrupt
    return interrupt_form.RecordedForm(msgspec.structs.replace(interrupt, form=None))


@pytest.mark.rule("surf-31", "surf-32")
@fails_without(node_call, "record_form", unrecorded)
async def test_a_form_of_a_node_is_recorded_with_its_interrupt(host: InProcessHost) -> None:
    run_id, shown = await waiting_run(host, "trip")
    assert shown.get("surface", {}).get("payload") == surface.to_json(FORM)
    assert shown["data"] == {
        "customKind": SURFACE_KIND,
        "payload": {"envelopeId": shown["surface"]["envelopeId"], "title": "A trip"},
    }
    assert shown["timeoutMs"] == 3_600_000
    events = await events_until(host, run_id, "node.suspended")
    kinds = ["weftwork.envelope.recorded", SURFACE_KIND, "interrupt.requested", "node.suspended"]
    record, emitted, _, suspended = events[-4:]
    assert [each["type"] for each in events[-4:]] == kinds
    assert {each["timestamp"] for each in events[-4:]} == {record["timestamp"]}, "one commit"
    assert emitted["payload"] == surface.to_json(FORM)
    assert {emitted["causationId"], suspended["causationId"]} == {record["payload"]["correlationId"]}
    assert suspended["payload"]["surface"] == record["payload"]["envelopeId"] == shown["surface"]["envelopeId"]
    assert await respond(host, run_id, "trip", {"action": "book"}) == 400
    assert await respond(host, run_id, "trip", {**ANSWER, "action": "other"}) == 400
    found = await outputs_after(host, run_id, "trip", ANSWER)
    assert (found["action"], found["values"]) == ("book", {"who": "Ada", "window": True})
    events = await events_until(host, run_id, "run.completed")
    surfaces = [each["payload"]["surface"] for each in events if each["type"] == SURFACE_KIND]
    assert [each["components"][0].get("text") for each in surfaces] == ["Booked.", None, "Booked for Ada."]
    assert found["shown"].startswith("env-")


async def test_a_plain_function_asks_with_the_json_of_a_surface(host: InProcessHost) -> None:
    run_id, shown = await waiting_run(host, "plain-trip")
    assert shown["surface"]["payload"] == surface.to_json(FORM)
    found = await outputs_after(host, run_id, "plain-trip", ANSWER)
    assert found == {"action": "book", "values": {"who": "Ada", "window": True}}


@pytest.mark.rule("surf-31")
@each_case(
    "name, made, answer, output",
    ("pay", DECISION, {"action": "accept", "comment": "Fine"}, {"action": "accept", "comment": "Fine"}),
    ("details", QUESTIONS, {"answers": {"size": "L"}}, {"size": "L"}),
    ("talk", TURN, {"action": "say", "city": "Rome"}, {"action": "say", "city": "Rome"}),
)
async def test_a_surface_is_the_form_of_another_interrupt(
    host: InProcessHost, name: str, made: Any, answer: Any, output: Any
) -> None:
    run_id, shown = await waiting_run(host, name)
    assert shown["surface"]["payload"] == surface.to_json(made)
    assert shown["kind"] == {"pay": "approval", "details": "clarification", "talk": "conversation.exchange"}[name]
    assert await respond(host, run_id, name, {"action": "nothing"}) == 400
    found = await outputs_after(host, run_id, name, answer)
    assert {member: found[member] for member in output} == output


def test_a_form_may_time_out_with_a_default() -> None:
    @weftwork.node("acme.late")
    async def late(ctx: weftwork.Context) -> Any:
        with_default = await ctx.ask_surface("one", FORM, timeout=60, default="nobody")
        try:
            await ctx.ask_surface("two", FORM, timeout=60)
        except weftwork.InterruptTimeout as error:
            return [with_default, error.key]

    result = run_node(late, answers={"one": TIMEOUT, "two": TIMEOUT})
    assert result.outputs == {"output": ["nobody", "two"]}


@pytest.mark.rule("surf-32", "surf-33")
def test_a_crash_anywhere_shows_and_asks_once() -> None:
    results = list(crash_everywhere(single_node_workflow("one", "acme.trip"), nodes=[trip], answers={"trip": ANSWER}))
    assert len(results) > 8
    for result in results:
        assert result.outputs["n"]["values"] == {"who": "Ada", "window": True}
        assert result.kinds.count(SURFACE_KIND) == 3
        assert result.kinds.count("interrupt.requested") == 1


@pytest.mark.rule("surf-33")
def test_the_form_is_not_sent_again_when_a_later_attempt_has_the_answer() -> None:
    @weftwork.node("acme.twice")
    async def twice(ctx: weftwork.Context) -> Any:
        answer = await ctx.ask_surface("trip", FORM)
        if ctx.attempt == 1:
            raise weftwork.NodeError("not_yet", "Try again.", retryable=True)
        return answer.action

    document = single_node_workflow("one", "acme.twice")
    document["nodes"][0]["settings"] = {"maxRetries": 1, "retryDelayMs": 0}
    result = run_workflow(document, nodes=[twice], answers={"trip": ANSWER})
    assert result.outputs["n"] == {"output": "book"}
    assert result.kinds.count(SURFACE_KIND) == 1


def misused(work: Any) -> str:
    """The message with which a node fails that makes this call."""

    @weftwork.node("acme.misuse")
    async def misuse(ctx: weftwork.Context) -> Any:
        return await work(ctx)

    failure = run_node(misuse).error
    assert failure is not None
    assert failure.code == "node_misused", failure
    return failure.message


@each_case(
    "work, told",
    (lambda ctx: ctx.ask_surface("a", NOTE), 'must have a button with the target "resume"'),
    (lambda ctx: ctx.ask_surface("a", TURN), 'must have a button with the target "resume"'),
    (
        lambda ctx: ctx.ask_surface("a", {"components": 1}),
        "The surface of the interrupt a is invalid: components must be",
    ),
    (lambda ctx: ctx.ask_surface("a b", FORM), "The key of an interrupt must have"),
    (lambda ctx: ctx.ask_surface("a", object()), "The surface of the interrupt a is invalid"),
    (lambda ctx: ctx.show_surface(FORM), "ctx.show_surface: a surface with a button asks a person"),
    (lambda ctx: ctx.show_surface([]), "The surface of ctx.show_surface is invalid"),
    (lambda ctx: ctx.approve("a", "?", surface=FORM), "must have a button whose id is one of: accept, reject"),
    (lambda ctx: ctx.clarify("a", {"b": "?"}, surface=QUESTIONS), "must have one field for each question"),
    (lambda ctx: ctx.interrupt("a", surface=FORM), "ctx.ask_surface(key, surface)"),
    (
        lambda ctx: ctx.interrupt("a", {"eventType": "x", "correlation": {}}, kind="external-event", surface=FORM),
        "cannot have a surface as its form",
    ),
    (
        lambda ctx: ctx.interrupt(
            "a", {"conversationId": "c", "prompt": "?"}, kind="conversation.exchange", surface=TURN, resume_schema={}
        ),
        "cannot have a resume_schema",
    ),
)
def test_a_mistake_fails_the_call_with_what_to_write(work: Any, told: str) -> None:
    assert told in misused(work)


@each_case("name", "ask", "show")
def test_a_step_sends_no_surface(name: str) -> None:
    async def inside(ctx: Any) -> Any:
        async def send() -> None:
            await (ctx.ask_surface("a", FORM) if name == "ask" else ctx.show_surface(NOTE))

        return await ctx.step("send", send)

    @weftwork.node("acme.stepped")
    async def stepped(ctx: weftwork.Context) -> Any:
        return await inside(ctx)

    failure = run_node(stepped).error
    assert failure is not None
    assert "step" in failure.message
