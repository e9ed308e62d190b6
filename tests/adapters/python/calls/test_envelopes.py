"""Envelopes from Python nodes: the gate, the questions of models, and what a node makes of them."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import each_case, fails_without, present
from weftwork.adapters.python.node_tasks import TaskPath
from weftwork.protocol.limits import Limits
from weftwork.testing import Crash, FakeModel, crash_everywhere, run_node, run_workflow


class Ticket(msgspec.Struct, forbid_unknown_fields=True):
    title: str


TICKET = weftwork.EnvelopeKind("vendor.acme.ticket", schema=Ticket)
URL = "https://api.example.com/x"
FLOW = single_node_workflow("tickets", "acme.ticket")


def envelope(kind: str, payload: Any) -> str:
    return json.dumps({"type": kind, "payload": payload})


MADE = envelope("vendor.acme.ticket", {"title": "Lamp"})
QUESTION = envelope("clarification.request", {"questions": [{"id": "which", "question": "Which lamp?"}]})

entered: list[str] = []


@weftwork.node("acme.ticket")
async def ticket(ctx: weftwork.Context) -> Any:
    entered.append("outside")
    await ctx.step("count", entered.append, "step")
    return await ctx.generate_envelope(TICKET, "The lamp is broken.", system="You write tickets.")


@weftwork.node("acme.ticket-plain")
def ticket_plain(ctx: weftwork.PlainContext) -> Any:
    return ctx.generate_envelope("vendor.acme.ticket", system="You write tickets.")


@each_case("function", ticket, ticket_plain)
def test_an_envelope_comes_with_all_that_is_known_of_it(function: Any) -> None:
    model = FakeModel([MADE])
    result = run_node(function, model=model, kinds=[TICKET])
    assert result.error is None
    outputs = result.outputs or {}
    assert (outputs["envelopeType"], outputs["payload"]) == ("vendor.acme.ticket", {"title": "Lamp"})
    assert outputs["contentTrust"] == "trusted"
    assert outputs["envelopeId"].startswith("env-")
    assert outputs["usage"]["outputTokens"] > 0
    kinds = [event.type for event in result.events]
    assert kinds.count("weftwork.envelope.recorded") == 1
    assert "output.chunk" not in kinds
    assert model.requests[0].messages[0].content in ("The lamp is broken.", "Begin.")
    # An answer that is recorded is not asked for again.
    model = FakeModel([MADE])
    result = run_node(function, model=model, kinds=[TICKET], faults=[Crash(event="weftwork.envelope.recorded")])
    assert (result.outputs or {})["payload"] == {"title": "Lamp"}
    assert len(model.requests) == 1


def test_kinds_of_the_module_of_a_node_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_node(ticket, model=[MADE]).error is None
    # Not what is only imported there: a host that loads the module does not know it either.
    monkeypatch.setattr(TICKET, "module", "elsewhere")
    assert run_node(ticket, model=[MADE]).error is not None


def test_a_kind_that_nobody_knows_is_a_failure() -> None:
    @weftwork.node("acme.unknown-kind")
    async def unknown(ctx: weftwork.Context) -> Any:
        hidden = weftwork.EnvelopeKind("vendor.acme.hidden", schema=Ticket)
        return await ctx.generate_envelope(hidden, "The lamp is broken.")

    model = FakeModel([MADE])
    result = run_node(unknown, model=model)
    assert (present(result.error).code, model.requests) == ("unknown_envelope_kind", [])


def test_the_contract_of_the_node_holds() -> None:
    other = weftwork.EnvelopeKind("vendor.acme.other", schema={"type": "object"})
    sent = envelope("vendor.acme.other", {})
    flow = {**FLOW, "nodes": [{**FLOW["nodes"][0], "envelopeContract": {"accepts": ["vendor.acme.ticket"]}}]}
    result = run_workflow(flow, nodes=[ticket], model=[sent, MADE], kinds=[TICKET, other])
    assert present(result.error).code == "envelope_contract_violation"


def test_a_model_may_say_that_it_cannot() -> None:
    refused = envelope("error", {"code": "ambiguous_intent", "message": "Which lamp?"})
    result = run_node(ticket, model=[refused], kinds=[TICKET])
    assert result.outputs is not None
    assert (result.outputs["envelopeType"], result.outputs["payload"]["code"]) == ("error", "ambiguous_intent")


def test_what_was_made_of_content_from_outside_is_untrusted() -> None:
    @weftwork.node("acme.reads")
    async def reads(ctx: weftwork.Context) -> str:
        page = (await ctx.fetch(URL)).text
        return (await ctx.generate_envelope(TICKET, ctx.quote(page))).content_trust

    result = run_node(reads, fetch={URL: "a page"}, model=[MADE], kinds=[TICKET])
    assert result.outputs == {"output": "untrusted"}


def test_a_question_of_a_model_is_asked_of_a_person() -> None:
    entered.clear()
    model = FakeModel([QUESTION, MADE])
    answers = {"clarification": {"answers": {"which": "the green one"}}}
    result = run_node(ticket, model=model, kinds=[TICKET], answers=answers)
    assert result.error is None
    assert (result.outputs or {})["payload"] == {"title": "Lamp"}
    # Entered twice; what was recorded came back, and no model was asked for it again.
    assert entered == ["outside", "step", "outside"]
    assert len(model.requests) == 2
    assert "the green one" in model.requests[1].messages[-1].content
    kinds = [event.type for event in result.events]
    assert (kinds.count("clarification.requested"), kinds.count("interrupt.requested")) == (1, 1)


@pytest.mark.rule("ai-06", "env-26")
def test_a_crash_anywhere_asks_no_person_twice_and_handles_each_envelope_once() -> None:
    models: list[FakeModel] = []

    def fresh() -> FakeModel:
        models.append(FakeModel(lambda request: MADE if len(request.messages) > 1 else QUESTION))
        return models[-1]

    answers = {"clarification": {"answers": {"which": "the green one"}}}
    runs = 0
    for result in crash_everywhere(FLOW, nodes=[ticket], answers=answers, model=fresh, kinds=[TICKET]):
        runs += 1
        assert result.outputs["n"]["payload"] == {"title": "Lamp"}
        assert result.kinds.count("clarification.requested") == 1
        assert result.kinds.count("weftwork.envelope.recorded") == 2
        assert result.kinds.count("weftwork.model.answered") == 2
        # Only a call that was under way when the process died is made again.
        assert len(models[-1].requests) <= 3
    assert runs > 10


def test_attempts_that_are_used_up_are_told_before_the_node_fails() -> None:
    result = run_workflow(FLOW, nodes=[ticket], model=lambda _: "{}", kinds=[TICKET], limits=Limits(schema_rounds=2))
    assert present(result.error).code == "envelope_invalid"
    kinds = result.nodes["n"].events
    assert [each.type for each in kinds][-3:] == ["envelope.retry.exhausted", "cap.breached", "node.failed"]


def test_two_models_that_ask_at_once_are_answered_one_after_the_other() -> None:
    @weftwork.node("acme.ticket")
    async def both(ctx: weftwork.Context) -> list[str]:
        made = [ctx.generate_envelope(TICKET, name) for name in ("one", "two")]
        return [each.payload["title"] for each in await asyncio.gather(*made)]

    def reply(request: Any) -> str:
        name = request.messages[0].content
        if len(request.messages) > 1:
            return envelope("vendor.acme.ticket", {"title": f"{name}: {request.messages[-1].content[-12:]}"})
        return envelope("clarification.request", {"questions": [{"id": name, "question": f"Which {name}?"}]})

    def answer(question: Any) -> Any:
        (asked,) = question.data["questions"]
        return {"answers": {asked["id"]: f"A{asked['id']}"}}

    model = FakeModel(reply)
    result = run_workflow(FLOW, nodes=[both], model=model, answers={"clarification": answer}, kinds=[TICKET])
    assert result.error is None, result.error
    assert [title[:3] for title in result.outputs["n"]["output"]] == ["one", "two"]
    assert "Aone" in result.outputs["n"]["output"][0]
    assert "Atwo" in result.outputs["n"]["output"][1]
    assert result.kinds.count("interrupt.requested") == 2


REPLAYED = single_node_workflow("calls", "acme.calls")
ASKS = {"go": "on"}


def reply(request: Any) -> Any:
    """Says what it was asked; who is asked first answers last."""
    asked = request.messages[-1].content
    wait = 1000 - 100 * int(asked[0]) if asked[0].isdigit() else 0
    return {"chunks": [f"re {asked}"], "delayMsPerToken": wait}


@weftwork.node("acme.calls")
async def one_by_one(ctx: weftwork.Context) -> Any:
    first = (await ctx.call_ai("1")).text
    second = (await ctx.call_ai(f"2 {first}")).text
    await ctx.interrupt("go")
    return [first, second, (await ctx.call_ai(f"3 {second}")).text]


@weftwork.node("acme.calls")
def plain(ctx: weftwork.PlainContext) -> Any:
    first = ctx.call_ai("1").text
    second = ctx.call_ai(f"2 {first}").text
    ctx.interrupt("go")
    return [first, second, ctx.call_ai(f"3 {second}").text]


CHAIN = ["re 1", "re 2 re 1", "re 3 re 2 re 1"]


@weftwork.node("acme.calls")
async def at_once(ctx: weftwork.Context) -> Any:
    answers = await asyncio.gather(*(ctx.call_ai(str(number)) for number in range(4)))
    await ctx.interrupt("go")
    return [answer.text for answer in answers]


@weftwork.node("acme.calls")
async def chains(ctx: weftwork.Context) -> Any:
    async def chain(name: str) -> list[str]:
        first = (await ctx.call_ai(name)).text
        return [first, (await ctx.call_ai(f"{9 - int(name)} after {first}")).text]

    found = await asyncio.gather(*(chain(str(number)) for number in range(3)))
    await ctx.interrupt("go")
    return [text for each in found for text in each]


@weftwork.node("acme.calls")
async def grouped(ctx: weftwork.Context) -> Any:
    async def chain(name: str) -> list[str]:
        first = (await ctx.call_ai(name)).text
        await ctx.step(f"note {name}", str, name)
        return [first, (await ctx.call_ai(f"{9 - int(name)} after {first}")).text]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(chain(str(number))) for number in range(3)]
    await ctx.interrupt("go")
    return [text for task in tasks for text in task.result()]


CHAINS = [text for number in range(3) for text in (f"re {number}", f"re {9 - number} after re {number}")]

NODES = [
    (one_by_one, CHAIN),
    (plain, CHAIN),
    (at_once, [f"re {number}" for number in range(4)]),
    (chains, CHAINS),
    (grouped, CHAINS),
]


@pytest.mark.rule("model-01")
@pytest.mark.parametrize(("function", "expected"), NODES, ids=["one by one", "plain", "at once", "chains", "grouped"])
def test_a_crash_anywhere_leaves_each_call_its_answer(function: Any, expected: list[str]) -> None:
    check_answers_over_crashes(function, expected)
    if function is chains:
        # Numbers alone would mix chains up.
        fails_without(TaskPath, "child", lambda self, _: self)(check_answers_over_crashes)(function, expected)


def check_answers_over_crashes(function: Any, expected: list[str]) -> None:
    models: list[FakeModel] = []

    def fresh() -> FakeModel:
        models.append(FakeModel(reply))
        return models[-1]

    runs = 0
    for result in crash_everywhere(REPLAYED, nodes=[function], answers=ASKS, model=fresh):
        runs += 1
        assert result.error is None, result.error
        assert result.outputs["n"]["output"] == expected
        assert result.kinds.count("weftwork.model.answered") == len(expected)
        assert result.kinds.count("provider.usage") == len(expected)
        if not result.faults:
            assert len(models[-1].requests) == len(expected)
    assert runs > 10


def test_items_of_a_map_have_answers_of_their_own() -> None:
    @weftwork.node("acme.item")
    async def item(ctx: weftwork.Context, name: str) -> str:
        first = (await ctx.call_ai(name)).text
        try:
            await ctx.call_ai("bad", schema={"type": "object"})
        except weftwork.NodeError as error:
            first += f" {error.code}"
        return f"{first} {(await ctx.call_ai(f'again {name}')).text}"

    def answer(request: Any) -> Any:
        return reply(request) if request.response_schema is None else "[]"

    inputs = {"name": {"type": "expression", "expression": "item"}}
    body = {"typeId": "acme.item", "inputs": inputs}
    map_of = single_node_workflow("map", "core.flow.map", {"items": ["5", "6"]}, config={"body": body})
    expected = [f"re {name} envelope_invalid re again {name}" for name in "56"]
    for result in crash_everywhere(map_of, nodes=[item], model=lambda: FakeModel(answer)):
        assert result.error is None, result.error
        assert result.outputs["n"]["results"] == expected
        assert "envelope.retry.exhausted" in result.kinds


def test_a_prompt_that_changes_still_gets_its_answer() -> None:
    seen: list[str] = []

    @weftwork.node("acme.calls")
    async def changing(ctx: weftwork.Context) -> str:
        seen.append("x")
        return (await ctx.call_ai(f"Entry {len(seen)}")).text

    model = FakeModel(reply)
    result = run_node(changing, model=model, faults=[Crash(event="node.completed")])
    assert (result.outputs, len(seen), len(model.requests)) == ({"output": "re Entry 1"}, 2, 1)


def test_threads_of_the_author_can_ask_too() -> None:
    @weftwork.node("acme.calls")
    def threaded(ctx: weftwork.PlainContext) -> list[str]:
        with ThreadPoolExecutor(1) as pool:
            theirs = pool.submit(lambda: ctx.call_ai("5").text).result(timeout=10)
        return [theirs, ctx.call_ai("6").text]

    result = run_node(threaded, model=FakeModel(reply), faults=[Crash(event="node.completed")])
    assert result.outputs == {"output": ["re 5", "re 6"]}
    assert [event.type for event in result.events].count("weftwork.model.answered") == 2


def test_a_branch_is_known_by_name_and_number() -> None:
    def walk(noise: bool) -> list[str]:
        root = TaskPath()
        found = [root.next_turn_prefix()]
        if noise:
            root.child("a library")
        child = root.child("chain")
        return [*found, *(each.next_turn_prefix() for each in (root, child, child, root.child("chain")))]

    assert walk(False) == walk(True)
    assert len(set(walk(False))) == 5
    assert walk(False)[:2] == ["0.", "1."]


def test_a_call_that_is_made_again_has_the_same_key() -> None:
    """For providers that know by it that they have answered already."""
    model = FakeModel(reply)
    crash = Crash(event="weftwork.model.answered", nth=2)
    assert run_node(one_by_one, model=model, answers=ASKS, faults=[crash]).error is None
    keys = [request.key for request in model.requests]
    assert len(keys) == 4
    assert keys[1] == keys[2]
    assert len({*keys}) == 3
    assert all(keys)
