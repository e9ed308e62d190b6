"""The provider for the chat completions API, on real sockets: requests, answers and failures."""

import asyncio
import base64
import json
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from tests.adapters.outbound.peer import Reply, until
from tests.adapters.providers.openai_server import (
    HELLO,
    KEY,
    chunk,
    http,
    in_pieces,
    provider_context,
    provider_settings,
    serving_provider,
    sse,
    usage,
)
from tests.adapters.providers.provider_calls import collect_answer, model_request
from tests.harness.cases import each_case, fails_without
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.providers.openai_compatible import answer as answer_module
from weftwork.adapters.providers.openai_compatible import event_stream as event_stream_module
from weftwork.adapters.providers.openai_compatible.provider import (
    OpenAICompatibleProvider,
)
from weftwork.adapters.providers.steady import NoAnswerFault, TransientFault
from weftwork.ports.models import (
    AnswerEnd,
    Delta,
    GeneratedMedia,
    ModelRequest,
    ProviderFault,
)
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.models.provider_settings import ProviderTimeouts
from weftwork.protocol.net.outbound import FetchLimits
from weftwork.protocol.net.target import OutboundPolicy
from weftwork.testing import FakeOutbound

CANARY = "Kanarienvogel-4711"


async def items_of(answer: Any, request: ModelRequest | None = None, **members: Any) -> list[Any]:
    async with serving_provider(answer, **members) as (provider, _):
        return [item async for item in provider.generate(request or model_request())]


async def fault_of(answer: Any, request: ModelRequest | None = None, **members: Any) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        await items_of(answer, request, **members)
    assert CANARY not in caught.value.message
    assert KEY not in caught.value.message
    assert caught.value.wait_ms is None
    return caught.value


async def test_an_answer_is_streamed_with_its_end_and_its_usage() -> None:
    async with serving_provider() as (provider, peer):
        deltas, end = await collect_answer(provider, model_request("Hi"))
    assert deltas == [Delta("Hel", model="tiny-2"), Delta("lo", model="tiny-2")]
    assert end == AnswerEnd("stop", TokenUsage(7, 2), "tiny-2", "stop")
    heard = peer.requests[0]
    assert (heard.method, heard.path) == ("POST", "/v1/chat/completions")
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert heard.headers["content-type"] == "application/json"
    assert "idempotency-key" not in heard.headers
    assert json.loads(heard.body) == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 512,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_deltas_arrive_before_the_answer_is_complete() -> None:
    release = asyncio.Event()

    async def reply(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = sse(chunk("Hel"), done=False)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body)
        await release.wait()
        writer.write(sse(chunk("lo", "stop")))

    async with serving_provider(reply) as (provider, _), aclosing(provider.generate(model_request())) as items:
        assert await anext(items) == Delta("Hel", model="tiny-2")
        release.set()
        assert [type(item) for item in [item async for item in items]] == [Delta, AnswerEnd]


async def test_leaving_an_answer_closes_its_connection() -> None:
    async def reply(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = sse(chunk("Hel"), done=False)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body)
        await reader.read()

    async with serving_provider(reply) as (provider, peer):
        tasks = asyncio.all_tasks()
        async with aclosing(provider.generate(model_request())) as items:
            await anext(items)
        await until(lambda: peer.closed_connections == 1, "the connection to close")
    assert asyncio.all_tasks() <= tasks


TEXT = "Grüße 🎈, ein längerer Text"


@each_case("end", b"\n\n", b"\r\n\r\n", b"\r\r")
@each_case("size", 1, 7, 64)
async def test_any_split_of_the_stream_gives_the_same_answer(end: bytes, size: int) -> None:
    comment = b": keep-alive" + end
    body = sse(comment, chunk(TEXT[:9]), comment, chunk(TEXT[9:]), b"event: x" + end[: len(end) // 2], end=end)
    body = body.replace(b"[DONE]", msgspec.json.encode(chunk(finish="stop")))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    items = await items_of(in_pieces(*pieces))
    assert "".join(item.text for item in items[:-1]) == TEXT
    assert items[-1].reason == "stop"


@each_case("end", b"\n\n", b"\r\n\r\n", b"\r\r")
async def test_the_last_event_may_arrive_in_pieces(end: bytes) -> None:
    body = sse(chunk("a"), chunk(finish="stop"), end=end)
    for at in range(body.index(b"data: [DONE]"), len(body)):
        has_read = asyncio.Event()
        async with (
            serving_provider(in_two_pieces(body[:at], body[at:], has_read)) as (provider, _),
            aclosing(provider.generate(model_request())) as items,
        ):
            assert isinstance(await anext(items), Delta)
            has_read.set()
            assert [type(item) async for item in items] == [AnswerEnd], f"split at {at}"


def in_two_pieces(first: bytes, second: bytes, between: asyncio.Event) -> Reply:
    async def reply(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + first)
        await between.wait()
        writer.write(second)

    return reply


@pytest.mark.rule("model-55")
@each_case(
    "body, reason",
    (sse(chunk("a", "length")), "length"),
    (sse(chunk("a"), chunk(finish="content_filter")), "content-filter"),
    (sse(chunk(finish="tool_calls")), "tool-call"),
    (sse(chunk(finish="function_call")), "tool-call"),
    (sse(chunk("a", "insufficient_system_resource")), "other"),
    (sse(chunk("a", "stop"), done=False), "stop"),
    (sse(chunk("a", "stop"), done=False)[:-2], "stop"),
    (sse(chunk("a", "stop")) + b"trailing \xff garbage", "stop"),
    (sse(chunk("a", "stop"), chunk("", "stop")), "stop"),
)
async def test_the_reason_for_the_end_is_known(body: bytes, reason: str) -> None:
    items = await items_of(http(body))
    assert items[-1].reason == reason
    assert isinstance(items[-1], AnswerEnd)


async def test_an_answer_is_complete_even_if_the_connection_is_lost_after_it() -> None:
    raw = http(sse(chunk("a", "stop"), done=False)).replace(b"Content-Length: 1", b"Content-Length: 91")
    assert [type(item) for item in await items_of(raw)] == [Delta, AnswerEnd]


async def test_a_refusal_is_an_answer() -> None:
    *_, end = await items_of(http(sse(chunk(refusal="I can"), chunk(refusal="not."), chunk(finish="stop"))))
    assert (end.reason, end.refusal, end.detail) == ("content-filter", "I cannot.", "stop")
    results = {"hate": {"filtered": False}, "violence": {"filtered": True, "severity": "high"}}
    filtered = chunk(finish="content_filter")
    filtered["choices"][0]["content_filter_results"] = results
    *_, end = await items_of(http(sse(chunk("a"), filtered)))
    assert (end.reason, end.safety_category) == ("content-filter", "violence")
    body = {"error": {"code": "content_filter", "message": CANARY, "innererror": {"code": "Other"}}}
    (end,) = await items_of(http(msgspec.json.encode(body), 400, "application/json"))
    assert end == AnswerEnd("content-filter", detail="content_filter")


def tool(index: int | None, arguments: str, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    return {**({} if index is None else {"index": index}), "function": function, **more}


async def test_tool_calls_are_assembled_from_their_pieces() -> None:
    pieces = [
        chunk(tool_calls=[tool(0, "", id="a1", name="weather", type="function")]),
        chunk(tool_calls=[tool(0, '{"city":')]),
        chunk(tool_calls=[tool(1, "{bad", name="time")]),
        chunk(tool_calls=[tool(0, '"Bonn"}'), "noise", {"index": "x"}]),
        chunk(finish="tool_calls"),
    ]
    (end,) = await items_of(http(sse(*pieces)))
    assert end.reason == "tool-call"
    assert end.tool_calls == (
        {"id": "a1", "name": "weather", "arguments": '{"city":"Bonn"}'},
        {"id": "call-2", "name": "time", "arguments": "{bad"},
    )
    (end,) = await items_of(http(sse(chunk(tool_calls=[tool(None, "{}", name="f")]), chunk(finish="stop"))))
    assert (end.reason, end.tool_calls) == ("tool-call", ({"id": "call-1", "name": "f", "arguments": "{}"},))
    (end,) = await items_of(http(sse(chunk(function_call={"name": "f", "arguments": "{}"}, finish="function_call"))))
    assert end.tool_calls == ({"id": "call-1", "name": "f", "arguments": "{}"},)


@pytest.mark.rule("model-56")
@each_case(
    "counts, expected",
    ({"prompt_tokens_details": {"cached_tokens": 4}}, TokenUsage(7, 2, 4)),
    ({"prompt_tokens_details": {"cached_tokens": 99}}, TokenUsage(7, 2, 7)),
    ({"prompt_cache_hit_tokens": 3}, TokenUsage(7, 2, 3)),
    ({"prompt_tokens": -1, "completion_tokens": "x"}, TokenUsage()),
    ({"prompt_tokens": True, "completion_tokens": 1.5}, TokenUsage()),
    ({"prompt_tokens": 10**30}, TokenUsage(2**53 - 1, 2)),
    ({"prompt_tokens": None, "prompt_tokens_details": None}, TokenUsage(0, 2)),
)
async def test_usage_is_counted_or_zero(counts: dict[str, Any], expected: TokenUsage) -> None:
    items = await items_of(http(sse(chunk("a", "stop"), usage(7, 2, **counts))))
    assert items[-1].usage == expected


async def test_a_server_may_answer_at_once() -> None:
    message = {"role": "assistant", "content": "Hello", "tool_calls": None}
    body = {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    body["usage"] = {"prompt_tokens": 3, "completion_tokens": 1}
    raw = http(msgspec.json.encode(body), content_type="application/json; charset=utf-8")
    assert await items_of(raw) == [Delta("Hello", model="m"), AnswerEnd("stop", TokenUsage(3, 1), "m", "stop")]
    async with serving_provider(raw, options={"stream": False}) as (provider, peer):
        await collect_answer(provider, model_request())
        assert "stream" not in json.loads(peer.requests[0].body)


PNG = b"\x89PNG\r\n\x1a\nnot really"


async def test_media_of_an_answer_are_decoded() -> None:
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    audio = base64.b64encode(b"sound").decode()
    pieces = [
        chunk("Here", images=[{"type": "image_url", "image_url": {"url": url}}]),
        chunk(images=[{"image_url": {"url": "https://example.com/a.png"}}, "noise"]),
        chunk(audio={"id": "x", "data": audio[:4], "transcript": "so"}),
        chunk(audio={"data": audio[4:], "transcript": "und"}),
        chunk(finish="stop"),
    ]
    options = {"body": {"modalities": ["text", "audio"], "audio": {"voice": "v", "format": "wav"}}}
    items = await items_of(http(sse(*pieces)), options=options)
    assert items[1:-1] == [
        GeneratedMedia("image", PNG, "image/png"),
        GeneratedMedia("audio", b"sound", "audio/wav", "sound"),
    ]
    parts = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": url}}]
    items = await items_of(http(sse(chunk(), {**chunk(content=parts, finish="stop")})))
    assert items[:-1] == [Delta("See", model="tiny-2"), GeneratedMedia("image", PNG, "image/png")]
    broken = sse(chunk(images=[{"image_url": {"url": "data:image/png;base64,%%"}}], finish="stop"))
    assert (await fault_of(http(broken))).code == "provider_unavailable"


def error_body(code: Any, **more: Any) -> bytes:
    return msgspec.json.encode({"error": {"message": f"{CANARY} {KEY}", "code": code, **more}})


@each_case(
    "status, body, code, is_transient",
    (400, error_body("context_length_exceeded"), "content_too_long", False),
    (400, error_body(None, param="response_format.schema"), "response_schema_invalid", False),
    (400, b"<html>" + CANARY.encode(), "invalid_request", False),
    (401, error_body("invalid_api_key"), "provider_unavailable", False),
    (404, error_body("model_not_found"), "model_not_supported", False),
    (429, error_body("insufficient_quota"), "provider_quota_exhausted", False),
    (429, error_body("rate_limit_exceeded"), "provider_rate_limited", True),
    (500, error_body(None), "provider_unavailable", True),
    (503, b"", "provider_unavailable", True),
    (302, b"", "provider_unavailable", False),
    (204, b"", "provider_unavailable", True),
    (500, b"x" * 500_000, "provider_unavailable", True),
)
async def test_an_error_response_is_a_fault_of_the_table(
    status: int, body: bytes, code: str, is_transient: bool
) -> None:
    raw = http(body, status, "application/json", {"Location": "/x"})
    fault = await fault_of(raw if status != 204 else b"HTTP/1.1 204 None\r\n\r\n", model_request(CANARY))
    assert (fault.code, isinstance(fault, TransientFault)) == (code, is_transient)
    assert "acme" in fault.message


async def test_retry_after_is_read() -> None:
    fault = await fault_of(http(b"", 429, headers={"Retry-After": "7"}))
    assert isinstance(fault, TransientFault)
    assert (fault.retry_after_ms, fault.is_down) == (7_000, True)


HTML = http(b"<html>busy</html>", content_type="text/html")


@each_case(
    "answer, code, is_down",
    (HTML, "provider_unavailable", False),
    (http(b"{nope", content_type="application/json"), "provider_unavailable", False),
    (http(b"[]", content_type="application/json"), "provider_unavailable", False),
    (http(b""), "provider_unavailable", False),
    (http(sse()), "provider_unavailable", False),
    (http(sse(b"data: {nope\n\n")), "provider_unavailable", False),
    (http(sse(b"data: " + b"[" * 100_000 + b"\n\n")), "provider_unavailable", False),
    (http(sse(b"data: \xff\xfe\n\n")), "provider_unavailable", False),
    (http(sse({"choices": [{"finish_reason": "error", "delta": {}}]})), "provider_unavailable", False),
    (http(sse({"error": {"message": CANARY, "code": "rate_limit_exceeded"}})), "provider_rate_limited", True),
    (http(sse({"error": {"message": CANARY, "code": 502}})), "provider_unavailable", True),
    (http(sse({"error": CANARY})), "provider_unavailable", False),
    (http(HELLO)[:200], "provider_unavailable", False),
    (b"220 smtp\r\n", "provider_unavailable", False),
)
async def test_what_is_not_an_answer_is_a_fault(answer: bytes, code: str, is_down: bool) -> None:
    fault = await fault_of(answer, model_request(CANARY))
    assert isinstance(fault, TransientFault)
    assert (fault.code, fault.is_down) == (code, is_down)


async def test_a_stream_cut_anywhere_ends_with_a_fault_or_its_whole_answer() -> None:
    whole = http(HELLO).replace(b"Content-Length:", b"X-Length:")
    async with serving_provider() as (provider, peer):
        for at in range(0, len(whole), 37):
            peer.answer = whole[:at] or b"\r\n"
            texts: list[str] = []
            try:
                async for item in provider.generate(model_request()):
                    texts.append(item.text if isinstance(item, Delta) else "END")
            except TransientFault:
                texts.append("FAULT")
            assert texts[-1] == "FAULT" or texts == ["Hel", "lo", "END"]


async def test_half_a_character_is_passed_on() -> None:
    half = rb'data: {"choices":[{"delta":{"content":"\ud83c"}}]}' b"\n\n"
    items = await items_of(http(sse(half, chunk("x", "stop"))))
    assert items[0].text == "\ud83c"


async def silent(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


@each_case("timeouts", ProviderTimeouts(60, 0.05, 60, 60), ProviderTimeouts(60, 60, 60, 0.3))
async def test_a_provider_that_is_silent_is_down(timeouts: ProviderTimeouts) -> None:
    fault = await fault_of(silent, timeouts=timeouts)
    assert isinstance(fault, TransientFault)
    assert (fault.code, fault.is_down) == ("provider_timed_out", True)


async def test_an_answer_larger_than_the_limits_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    large = http(sse(chunk("x" * 100_000, "stop")))
    fault = await fault_of(large, limits=FetchLimits(max_bytes=50_000))
    assert (fault.code, fault.retryable) == ("provider_unavailable", False)
    monkeypatch.setattr(event_stream_module, "MAX_EVENT_BYTES", 50_000)
    fault = await fault_of(large)
    assert "larger" in fault.message


async def test_a_blocked_address_is_a_fault_that_names_the_setting() -> None:
    async with serving_provider() as (_, peer):
        client = GuardedClient(OutboundPolicy(frozenset({peer.port}), http=True))
        settings = provider_settings(f"http://127.0.0.1:{peer.port}/v1")
        provider = OpenAICompatibleProvider(provider_context(client, settings))
        with pytest.raises(ProviderFault, match="allow_private_network") as caught:
            await collect_answer(provider, model_request())
        await client.close()
        assert (caught.value.retryable, peer.connections) == (False, 0)


async def test_check_lists_the_models_of_the_server() -> None:
    async with serving_provider(http(b'{"data":[]}', content_type="application/json")) as (provider, peer):
        await provider.check()
        heard = peer.requests[0]
        assert (heard.method, heard.path, heard.headers["authorization"]) == ("GET", "/v1/models", f"Bearer {KEY}")
        for status, code in ((401, "provider_unavailable"), (429, "provider_rate_limited")):
            peer.answer = http(error_body(None), status)
            with pytest.raises(ProviderFault) as caught:
                await provider.check()
            assert caught.value.code == code
    with pytest.raises(ProviderFault, match="could not connect"):
        await provider.check()


@pytest.mark.rule("model-57")
@fails_without(answer_module, "MAX_TOOL_CALL_CHARS", 10**9, match="DID NOT RAISE")
async def test_tool_calls_have_a_size_limit() -> None:
    call = {"index": 0, "function": {"name": "f" * 1000, "arguments": "x" * 100_000}}
    fault = await fault_of(http(sse(*[chunk(tool_calls=[call]) for _ in range(11)], chunk(finish="stop"))))
    assert "larger than this host accepts" in fault.message
    end = (await items_of(http(sse(chunk(tool_calls=[call]), chunk(finish="stop")))))[-1]
    assert end.tool_calls[0]["name"] == "f" * 256


async def test_other_choices_are_ignored() -> None:
    other = chunk("B")
    other["choices"][0]["index"] = 1
    deltas = await items_of(http(sse(chunk("A"), other, chunk("a", "stop"))))
    assert "".join(each.text for each in deltas[:-1]) == "Aa"


async def test_an_image_without_base64_is_ignored() -> None:
    image = {"image_url": {"url": "data:image/svg+xml,<svg/>"}}
    items = await items_of(http(sse(chunk(images=[image]), chunk("a", "stop"))))
    assert not any(isinstance(each, GeneratedMedia) for each in items)


@each_case("key", "two\nlines", "schl\xfcssel")
async def test_a_key_that_no_header_can_hold_is_named_as_the_reason(key: str) -> None:
    context = provider_context(FakeOutbound(), provider_settings(credential="env:X"))
    provider = OpenAICompatibleProvider(msgspec.structs.replace(context, credential=lambda: key))
    with pytest.raises(NoAnswerFault, match="no usable key") as caught:
        await anext(provider.generate(model_request()))
    assert key not in caught.value.message
