"""The context of Python nodes: what it offers, its types, and the page that describes it."""

import inspect
import random
import re
from datetime import UTC, datetime
from typing import Any, assert_type

import pytest

import weftwork
from tests.adapters.nodes.fake_context import final_failure
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.docs.pages import ROOT, blocks
from tests.harness.cases import each_case
from tests.harness.fetch_only import FetchOnly
from weftwork.adapters.python.calls.fetch import FetchResponse
from weftwork.adapters.python.calls.model_calls import AiAnswer, AiUsage, Envelope
from weftwork.adapters.python.declaration.decorator import NodeFunction, node, node_of
from weftwork.ports.node_outcome import AppendLog, Completed, EmitEvent, Failed
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundResponse
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS
from weftwork.testing import TIMEOUT, FakeModel, respond, run_node


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
    stage.rejects_output = True
    assert stage.run(tell) == Failed("node_output_too_large", "Too much.", retryable=False)
    assert stage.emitted[:5] == [
        AppendLog("debug", "one", {"a": 1}),
        AppendLog("info", "two", {"odd": "<class 'object'>"}),
        AppendLog("warn", "three", {}),
        AppendLog("error", "fo\ufffdur", {}),
        EmitEvent("acme.told", {"at": "2031-05-06T00:00:00Z"}),
    ]


@each_case(
    "event_type, payload, why",
    ("run.started", {}, "is not a valid custom event type"),
    ("weftwork.mine", {}, "is not a valid custom event type"),
    ("plain", {}, "is not a valid custom event type"),
    ("acme.told", {"a": object()}, "is not JSON"),
    ("acme.told", [1], "is not an object"),
)
def test_events_of_others_cannot_be_emitted(event_type: str, payload: Any, why: str) -> None:
    @weftwork.node("acme.emit")
    async def emit(ctx: weftwork.Context) -> None:
        with pytest.raises(ValueError, match=why):
            ctx.emit(event_type, payload)

    stage = FakeNodeHost()
    assert stage.run(emit) == Completed({})
    assert stage.emitted == []


@weftwork.node("acme.version")
async def version(ctx: weftwork.Context, least: Any = 1, most: Any = 2) -> int:
    return await ctx.get_version("change", least, most)


@pytest.mark.rule("ver-02")
def test_a_version_is_pinned_by_the_first_who_asks() -> None:
    stage = FakeNodeHost()
    assert stage.run(version) == Completed({"output": 2})
    assert stage.run(version, most=5) == Completed({"output": 2})
    assert stage.run(version, least=-1, most=2) == Completed({"output": 2})
    assert final_failure(stage.run(version, least=3, most=5))[0] == "version_out_of_range"
    assert stage.versions == {"change": 2}


class Out(FetchOnly):
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
        "host_capability_missing", "This host does not support HTTP requests.", retryable=False
    )


@each_case("sent", True, False)
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


URL = "https://api.example.com/x"
PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 100
KIND = weftwork.EnvelopeKind("vendor.acme.note", schema={"type": "object"})


def number() -> int:
    return 7


async def word() -> str:
    return "seven"


@weftwork.node("acme.awaits")
async def awaits(ctx: weftwork.Context) -> None:
    assert_type(await ctx.step("plain", number), int)
    assert_type(await ctx.step("async", word), str)
    assert_type(await ctx.get_version("change", 1, 2), int)
    assert_type(await ctx.fetch(URL), FetchResponse)
    assert_type(await ctx.call_ai("Hello"), AiAnswer)
    assert_type(await ctx.generate_envelope(KIND, "Hello"), Envelope)
    shown = assert_type(await ctx.emit_image(PNG), weftwork.Media)
    assert_type(await ctx.read_media(shown), weftwork.MediaContent)
    assert_type(await ctx.clarify("who", {"name": "Who?"}), dict[str, Any])


@weftwork.node("acme.blocks")
def waits_in_place(ctx: weftwork.PlainContext) -> None:
    assert_type(ctx.step("plain", number), int)
    assert_type(ctx.step("async", word), str)
    assert_type(ctx.get_version("change", 1, 2), int)
    assert_type(ctx.fetch(URL), FetchResponse)
    assert_type(ctx.call_ai("Hello"), AiAnswer)
    assert_type(ctx.generate_envelope(KIND, "Hello"), Envelope)
    shown = assert_type(ctx.emit_image(PNG), weftwork.Media)
    assert_type(ctx.read_media(shown), weftwork.MediaContent)
    assert_type(ctx.clarify("who", {"name": "Who?"}), dict[str, Any])


@each_case("function", awaits, waits_in_place)
def test_every_call_works_in_both(function: Any) -> None:
    model = FakeModel(["Hello.", '{"type": "vendor.acme.note", "payload": {}}'] * 2)
    answers = {"who": {"answers": {"name": "Ann"}}}
    result = run_node(function, model=model, kinds=[KIND], answers=answers, fetch=lambda request: respond())
    assert result.error is None
    assert result.media[0].data == PNG


def test_both_have_the_same_methods_and_docstrings() -> None:
    def public(kind: type) -> dict[str, Any]:
        return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}

    assert public(weftwork.Context) == public(weftwork.PlainContext)
    slots = {"attempt", "iteration", "log", "node_id", "run_id"}
    assert [name for name, each in public(weftwork.Context).items() if name not in slots and not each.__doc__] == []


PAGE = (ROOT / "docs" / "how-to" / "write-a-node.md").read_text("utf-8")
MODELS = (ROOT / "docs" / "how-to" / "call-models-from-a-node.md").read_text("utf-8")
MEDIA = (ROOT / "docs" / "how-to" / "media-in-a-node.md").read_text("utf-8")
QUESTIONS = (ROOT / "docs" / "how-to" / "ask-people-from-a-node.md").read_text("utf-8")


def nodes_on(page: str) -> list[tuple[str, Any]]:
    """The nodes that the code on a page makes: their types, and what they are made of."""
    made: list[NodeFunction] = []
    for block in blocks(page):
        if block.language == "py":
            names: dict[str, Any] = {"weftwork": weftwork, "__name__": "page"}
            exec(compile(block.code, "page", "exec"), names)
            made += [found for value in names.values() if (found := node_of(value)) is not None]
    return [(found.declaration.type_id, found.function) for found in made]


def test_the_code_on_the_pages_makes_nodes_and_the_one_that_asks_can_be_run() -> None:
    ((type_id, order),) = nodes_on(QUESTIONS)
    assert type_id == "acme.order"
    assert [each for each, _ in nodes_on(PAGE)] == ["acme.bill", "acme.charge"]
    votes = [{"action": "accept", "voter": voter} for voter in ("ann", "cyd")]
    answers: dict[str, Any] = {
        "details": {"answers": {"size": "large", "colour": "red"}},
        "buy": votes,
        "paid": {"order": 7, "amount": 20},
    }
    result = run_node(order, inputs={"item": "door"}, answers=answers)
    assert result.outputs == {"bought": True, "order": 7, "paid": True}
    assert result.asked[1].data["artifactData"]["price"] == 20
    assert run_node(order, inputs={"item": "door"}, answers={**answers, "paid": TIMEOUT}).outputs["paid"] is False
    assert run_node(order, inputs={"item": "door"}, answers={**answers, "buy": TIMEOUT}).outputs["bought"] is False


def test_every_kind_and_every_option_of_a_question_is_explained() -> None:
    assert [kind for kind in INTERRUPT_KINDS if f"`{kind}`" not in QUESTIONS] == []
    for name in ("interrupt", "approve", "clarify", "ask_surface", "wait_for_event"):
        (row,) = re.findall(rf"^\| `({name}\(.*?)` \|", QUESTIONS, re.MULTILINE)
        parameters = [*inspect.signature(getattr(weftwork.Context, name)).parameters][1:]
        everywhere = {"timeout", "default", "remind_after"}
        assert [each for each in parameters if each not in everywhere and not re.search(rf"\b{each}\b", row)] == []
        assert [each for each in everywhere if f"`{each}`" not in QUESTIONS] == []


def test_every_option_of_a_call_of_a_model_and_every_member_of_its_answer_is_explained() -> None:
    for name in ("call_ai", "generate_envelope"):
        options = [*inspect.signature(getattr(weftwork.Context, name)).parameters][1:]
        assert [each for each in options if not re.search(rf"`(.*\W)?{each}\W", MODELS)] == []
    for kind in (AiAnswer, Envelope, AiUsage):
        names = [name for name in dir(kind) if not name.startswith("_")]
        assert [name for name in names if f"`{name}`" not in MODELS] == []


def test_everything_about_media_is_explained() -> None:
    for name in ("emit_image", "emit_audio", "emit_file", "read_media"):
        (row,) = re.findall(rf"^(?:\| )?`({name}\(.*?)`", MEDIA, re.MULTILINE)
        parameters = [*inspect.signature(getattr(weftwork.Context, name)).parameters][1:]
        assert [each for each in parameters if not re.search(rf"\b{each}\b", row)] == []
    for kind in (weftwork.Media, weftwork.MediaContent):
        assert [name for name in kind.__struct_fields__ if f"`{name}`" not in MEDIA] == []


def test_every_member_of_the_context_and_every_option_of_the_decorator_is_explained() -> None:
    table = PAGE.partition("## Use the context")[2].partition("\n## ")[0]
    rows = " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    # The first column of the table: names in code, with or without what they take.
    explained = set(re.findall(r"(?:^|`|\W)([a-z_]+)(?=[`(,.]|\()", rows))
    members = {name for name in dir(weftwork.Context) if not name.startswith("_")}
    assert members <= explained | {"log"}
    assert "log.debug" in rows
    shown = next(block.code for block in blocks(PAGE) if block.language == "py")
    options = [name for name in inspect.signature(node).parameters if name != "type_id"]
    assert not [name for name in options if f"    {name}=" not in shown]


def test_every_public_name_for_nodes_is_on_one_of_the_pages() -> None:
    names = [name for name in weftwork.__all__ if name not in ("Host", "Settings")]
    assert not [name for name in names if name not in PAGE + MODELS + MEDIA + QUESTIONS]
