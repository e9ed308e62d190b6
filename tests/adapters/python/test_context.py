"""The context of async functions: what it tells and says, versions, and requests."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.ports.node_outcome import AppendLog, Completed, EmitEvent, Failed
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundResponse


@weftwork.node("acme.tell")
async def tell(ctx: weftwork.Context, *, config: dict[str, Any]) -> Any:
    """What the context says about the entry."""
    ctx.log.debug("one", a=1)
    ctx.log.info("two", odd=object)
    ctx.log.warning("three")
    ctx.log.error("fo\ud800ur")
    ctx.emit("acme.told", {"at": datetime(2031, 5, 6, tzinfo=UTC)})
    return {
        "ids": [ctx.run_id, ctx.node_id, ctx.attempt, ctx.iteration],
        "now": ctx.now(),
        "random": [ctx.random.random() for _ in range(3)],
        "key": ctx.idempotency_key,
    }


def test_what_the_context_tells() -> None:
    stage = FakeNodeHost()
    first, again = stage.run(tell), stage.run(tell)
    assert isinstance(first, Completed)
    assert isinstance(again, Completed)
    same = random.Random("random:key:")
    assert first.outputs == {
        "ids": ["run-1", "n", 1, 0],
        "now": "1970-01-01T00:00:01Z",
        "random": [same.random() for _ in range(3)],
        "key": "key:",
    }
    assert again.outputs == {**first.outputs, "ids": ["run-1", "n", 2, 0]}
    assert stage.emitted[:5] == [
        AppendLog("debug", "one", {"a": 1}),
        AppendLog("info", "two", {"odd": "<class 'object'>"}),
        AppendLog("warn", "three", {}),
        AppendLog("error", "fo\ufffdur", {}),
        EmitEvent("acme.told", {"at": "2031-05-06T00:00:00Z"}),
    ]


@pytest.mark.parametrize(
    ("event_type", "payload", "why"),
    [
        ("run.started", {}, "is no event type of your own"),
        ("weftwork.mine", {}, "is no event type of your own"),
        ("plain", {}, "is no event type of your own"),
        ("acme.told", {"a": object()}, "is not JSON"),
        ("acme.told", [1], "is not an object"),
    ],
)
def test_events_of_others_cannot_be_emitted(event_type: str, payload: Any, why: str) -> None:
    @weftwork.node("acme.emit")
    async def emit(ctx: weftwork.Context) -> None:
        with pytest.raises(ValueError, match=why):
            ctx.emit(event_type, payload)

    stage = FakeNodeHost()
    assert stage.run(emit) == Completed({})
    assert stage.emitted == []


def test_saying_too_much_fails_the_node() -> None:
    @weftwork.node("acme.chatter")
    async def chatter(ctx: weftwork.Context) -> None:
        ctx.log.info("again")

    stage = FakeNodeHost()
    stage.rejects_output = True
    assert stage.run(chatter) == Failed("node_output_too_large", "Too much.", retryable=False)


@weftwork.node("acme.version")
async def version(ctx: weftwork.Context, least: Any = 1, most: Any = 2) -> int:
    return await ctx.get_version("change", least, most)


@pytest.mark.rule("ver-02")
def test_a_version_is_pinned_by_the_first_who_asks() -> None:
    stage = FakeNodeHost()
    assert stage.run(version) == Completed({"output": 2})
    assert stage.run(version, most=5) == Completed({"output": 2})
    assert stage.run(version, least=-1, most=2) == Completed({"output": 2})
    late = stage.run(version, least=3, most=5)
    assert isinstance(late, Failed)
    assert (late.code, late.retryable) == ("version_out_of_range", False)
    assert stage.versions == {"change": 2}


class Out:
    """A way out that answers from a list."""

    def __init__(self, *answers: OutboundResponse | Exception) -> None:
        self.answers = [*answers]
        self.sent: list[OutboundRequest] = []

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None: ...


def test_a_request_and_its_answer() -> None:
    @weftwork.node("acme.fetch")
    async def fetch(ctx: weftwork.Context) -> Any:
        found = await ctx.fetch(
            "https://example.com/", method="post", json={"a": (1,)}, headers={"x-a": "b"}, timeout=1.5
        )
        return [found.status, found.headers, found.json(), found.text, found.url]

    out = Out(OutboundResponse(200, (("A", "1"), ("a", "2")), b'{"b":1}', "https://example.com/x"))
    assert FakeNodeHost(outbound=out).run(fetch) == Completed(
        {"output": [200, {"a": "1, 2"}, {"b": 1}, '{"b":1}', "https://example.com/x"]}
    )
    headers = (("x-a", "b"), ("content-type", "application/json"))
    assert out.sent == [OutboundRequest("https://example.com/", "POST", headers, b'{"a":[1]}', 1500)]


@weftwork.node("acme.get")
async def get(ctx: weftwork.Context, step: bool = False) -> int:
    async def once() -> int:
        return (await ctx.fetch("https://example.com/")).status

    return await (ctx.step("get", once) if step else once())


def test_a_request_that_is_refused_or_fails() -> None:
    out = Out(FetchRefused("ssrf", "Not there."), FetchFailed("Too slow.", True))
    stage = FakeNodeHost(outbound=out)
    assert stage.run(get) == Failed("ssrf_blocked", "Not there.", {"blocked": "ssrf"}, retryable=False)
    assert stage.run(get) == Failed("fetch_failed", "Too slow.")
    assert FakeNodeHost().run(get) == Failed(
        "host_capability_missing", "This host does not offer requests to others.", retryable=False
    )


@pytest.mark.parametrize("sent", [True, False])
def test_a_once_node_whose_request_may_have_arrived_is_not_tried_again(sent: bool) -> None:
    @weftwork.node("acme.fire", effect="once")
    async def fire(ctx: weftwork.Context) -> None:
        await ctx.fetch("https://example.com/")

    found = FakeNodeHost(outbound=Out(FetchFailed("Reset.", sent))).run(fire)
    assert found == Failed("fetch_failed", "Reset.", retryable=not sent)


def test_a_request_in_a_step_is_recorded_unless_nothing_was_sent() -> None:
    out = Out(FetchFailed("Refused.", False), FetchFailed("Reset.", True))
    stage = FakeNodeHost(outbound=out)
    assert stage.run(get, step=True) == Failed("fetch_failed", "Refused.")
    assert stage.recorded == {}
    assert stage.run(get, step=True) == Failed("fetch_failed", "Reset.", retryable=False)
    assert stage.run(get, step=True) == Failed("fetch_failed", "Reset.", retryable=False)
    assert len(out.sent) == 2


def test_what_the_host_does_not_have() -> None:
    @weftwork.node("acme.more")
    async def more(ctx: weftwork.Context) -> None:
        await ctx.secret("x", y=1)

    found = FakeNodeHost().run(more)
    assert isinstance(found, Failed)
    assert found.code == "host_capability_missing"
