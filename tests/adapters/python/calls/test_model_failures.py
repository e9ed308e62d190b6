"""Models that fail in Python nodes: what an author can catch, and what the log says all the same."""

import asyncio
from typing import Any

import msgspec
import pytest

import weftwork
from weftwork.testing import Crash, FakeModel, ManualClock, run_node, run_workflow

FAULT = {"fault": {"code": "provider_quota_exhausted", "message": "Too much.", "retryable": True}}
REFUSAL = {"content": "", "stopReason": "refusal", "refusalText": "No."}
TOLD = ["envelope.retry.exhausted", "cap.breached"]


class Order(msgspec.Struct):
    article: str


def kinds(result: Any) -> list[str]:
    return [event.type for event in result.events]


@pytest.mark.parametrize(
    ("answer", "schema", "code", "retryable"),
    [
        (FAULT, None, "provider_quota_exhausted", True),
        (REFUSAL, None, "envelope_refusal", False),
        (REFUSAL, Order, "envelope_refusal", False),
        ("[]", Order, "envelope_invalid", True),
        ({"content": '{"art', "stopReason": "max_tokens"}, Order, "envelope_truncation_unrecoverable", False),
    ],
)
def test_a_failure_has_the_code_of_its_cause(answer: Any, schema: Any, code: str, retryable: bool) -> None:
    caught: list[weftwork.NodeError] = []

    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> None:
        try:
            await ctx.call_ai("Read it.", schema=schema)
        except weftwork.NodeError as error:
            caught.append(error)
            raise

    result = run_node(asks, model=lambda _: answer)
    assert result.error is not None
    assert result.error.code == caught[0].code == code
    assert caught[0].retryable is retryable
    if code == "envelope_refusal":
        assert kinds(result).count("envelope.refusal") == 1


def test_what_follows_from_a_failure_is_told_with_the_end_of_the_node() -> None:
    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> None:
        await ctx.call_ai("Read it.", schema=Order)

    assert kinds(run_node(asks, model=lambda _: "[]"))[-3:] == [*TOLD, "node.failed"]


@weftwork.node("acme.catches")
async def catches(ctx: weftwork.Context, then: str = "return") -> str:
    try:
        await ctx.call_ai("Read it.", schema=Order)
    except weftwork.NodeError as error:
        if then == "ask":
            return await ctx.interrupt("what", data=error.code)
        if then == "fail":
            raise weftwork.NodeError("own_code", "No.") from None
        if then == "raise":
            raise RuntimeError("a mistake") from None
        return error.code
    return "no failure"


@pytest.mark.parametrize("then", ["return", "ask", "fail", "raise"])
@pytest.mark.parametrize("crash", [None, "node.suspended", "node.completed", "node.failed"])
def test_a_failure_that_is_caught_is_told_once(then: str, crash: str | None) -> None:
    ends = {"return": ["node.completed"], "ask": ["node.suspended", "node.completed"]}.get(then, ["node.failed"])
    if crash not in (None, *ends):
        crash = ends[-1]
    faults = [] if crash is None else [Crash(event=crash)]
    named: dict[str, Any] = {"model": lambda _: "[]", "answers": {"what": "go on"}, "faults": faults}
    found = kinds(run_node(catches, inputs={"then": then}, **named))
    assert found[-1] == ends[-1]
    if then == "raise" and crash is not None:
        # The error of the author leaves no room in the last commit, so a crash there says it again.
        assert set(found) >= set(TOLD)
    else:
        assert [kind for kind in found if kind in TOLD] == TOLD


def test_without_that_it_would_not_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.adapters.python.node_runner._with_pending_effects", lambda _, outcome: outcome)
    with pytest.raises(AssertionError):
        test_a_failure_that_is_caught_is_told_once("return", None)


def test_a_node_goes_the_same_way_again_after_a_failure_it_caught() -> None:
    """Another provider is asked in place of one that failed; when the node comes back from a question, the one that
    failed then is not asked again, though it would answer now."""

    @weftwork.node("acme.falls-back")
    async def falls_back(ctx: weftwork.Context) -> list[str]:
        try:
            answer = await ctx.call_ai("Write it.", provider="first")
        except weftwork.NodeError:
            answer = await ctx.call_ai("Write it.", provider="second")
        decision = await ctx.approve("ok", answer.text)
        return [answer.text, decision["action"]]

    model = FakeModel([FAULT, "by the second", "by the first", "by the first"])
    result = run_node(falls_back, model=model, answers={"ok": {"action": "accept"}})
    assert result.outputs == {"output": ["by the second", "accept"]}
    assert [request.provider for request in model.requests] == ["first", "second"]


def test_a_failure_that_is_not_recorded_would_change_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unnamed(self: Any, request: Any, along: Any) -> Any:
        return await self._calls.host.generate(request, along)

    monkeypatch.setattr("weftwork.adapters.python.calls.model_calls._CallContext.generate", unnamed)
    with pytest.raises(AssertionError):
        test_a_node_goes_the_same_way_again_after_a_failure_it_caught()


def test_a_call_that_is_left_behind_ends_with_its_node() -> None:
    clock, ended = ManualClock(), list[int]()

    @weftwork.node("acme.gathers")
    async def gathers(ctx: weftwork.Context) -> str:
        async def slow() -> None:
            try:
                await ctx.call_ai("slow")
            finally:
                ended.append(clock.now())

        try:
            await asyncio.gather(ctx.call_ai("bad"), slow())
        except weftwork.NodeError as error:
            return error.code
        raise AssertionError("the first call fails")

    def reply(request: Any) -> Any:
        slow = {"chunks": ["a", "b"], "delayMsPerToken": 5000}
        return slow if request.messages[0].content == "slow" else FAULT

    at = {"position": {"x": 0, "y": 0}, "inputs": {}}
    nodes = [
        {"id": "n", "typeId": "acme.gathers", "name": "n", "config": {}, **at},
        {"id": "wait", "typeId": "core.delay", "name": "wait", "config": {"delayMs": 20_000}, **at},
    ]
    empty: dict[str, Any] = {"edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    document = {"id": "beside", "name": "Beside", "version": "1", "nodes": nodes, **empty}
    began = clock.now()
    result = run_workflow(document, nodes=[gathers], model=reply, clock=clock)
    assert result.outputs["n"] == {"output": "provider_quota_exhausted"}
    assert clock.now() - began >= 20_000
    assert [when - began for when in ended] == [0]


def test_without_the_cut_it_would_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.adapters.python.calls.call_state.CallState.cancel_host_tasks", lambda _: None)
    with pytest.raises(AssertionError):
        test_a_call_that_is_left_behind_ends_with_its_node()


def test_a_new_attempt_asks_anew() -> None:
    """What was recorded belongs to the attempt: another one is there to try again."""
    model = FakeModel(["first"])

    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> str:
        return (await ctx.call_ai("Read it.")).text

    assert run_node(asks, model=model, attempt=2).outputs == {"output": "first"}
