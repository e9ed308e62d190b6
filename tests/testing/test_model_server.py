"""The model server of the test kit: the wire of each server that it imitates, and what each fault does to it."""

import asyncio
import gzip
import json
import socket
import zlib
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.harness.cases import each_case
from weftwork.testing.model_server import DIALECTS, Fault, ModelReply, ModelServer, ServedRequest, ToolCall, faults

SECONDS = 30.0
TEXT = "Grüße from the model server 😀"
KEY = "sk-canary-1"
QUESTION = {"model": "tiny", "messages": [{"role": "user", "content": "a canary prompt"}]}


def ask(
    server: ModelServer, path: str = "/chat/completions", method: str = "POST", **members: Any
) -> tuple[int, bytes]:
    """One request with a well-behaved HTTP client."""
    url = urlsplit(server.base_url)
    connection = HTTPConnection(url.hostname or "", url.port, timeout=SECONDS)
    connection.request(method, url.path + path, json.dumps(QUESTION | members), {"Authorization": f"Bearer {KEY}"})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def exchange(server: ModelServer, stream: bool = True, size: int = 2**26) -> bytes:
    """The raw bytes of a response, until the server closes the connection or `size` bytes have arrived."""
    with open_request(server, stream) as peer:
        return receive(peer, size)


def open_request(server: ModelServer, stream: bool = True) -> socket.socket:
    url = urlsplit(server.base_url)
    body = json.dumps(QUESTION | {"stream": stream, "stream_options": {"include_usage": True}}).encode()
    peer = socket.create_connection((url.hostname or "", url.port or 0), timeout=SECONDS)
    head = (
        f"POST {url.path}/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {KEY}\r\n"
    )
    peer.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return peer


def receive(peer: socket.socket, size: int = 2**26) -> bytes:
    received = bytearray()
    while len(received) < size and (data := peer.recv(min(65_536, size - len(received)))):
        received += data
    return bytes(received)


def events(content: bytes) -> list[dict[str, Any]]:
    """The JSON documents of a stream; fails if it does not end with [DONE]."""
    *lines, last = [line for line in content.decode().split("\n\n") if line and not line.startswith(":")]
    assert last == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_tells_the_same_answer(dialect: str) -> None:
    calls = (ToolCall("add", '{"a": 1}'), ToolCall("sub", "{}", "call_2"))
    for reply in (ModelReply(TEXT), ModelReply(refusal="No."), ModelReply(tool_calls=calls), ModelReply("")):
        with ModelServer(default=msgspec_replace(reply, dialect=dialect, cached_tokens=3)) as server:
            whole = json.loads(ask(server)[1])
            chunks = events(ask(server, stream=True, stream_options={"include_usage": True})[1])
            assert len(events(ask(server, stream=True)[1])) == len(chunks) - 1
        message = whole["choices"][0]["message"]
        choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        deltas = [choice["delta"] for choice in choices]
        for member in ("content", "refusal"):
            assert "".join(delta.get(member) or "" for delta in deltas) == (message.get(member) or "")
        assert joined_calls(deltas) == message.get("tool_calls", [])
        assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == [
            whole["choices"][0]["finish_reason"]
        ]
        assert chunks[-1]["usage"] == whole["usage"]
        assert whole["usage"]["prompt_tokens_details"]["cached_tokens"] == 3


def msgspec_replace(reply: ModelReply, **members: Any) -> ModelReply:
    return ModelReply(**{name: getattr(reply, name) for name in reply.__struct_fields__} | members)


def joined_calls(deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    calls: dict[int, dict[str, Any]] = {}
    for part in (part for delta in deltas for part in delta.get("tool_calls", [])):
        index = part.pop("index")
        if index not in calls:
            calls[index] = part
        else:
            calls[index]["function"]["arguments"] += part["function"]["arguments"]
    return list(calls.values())


def test_answers_are_used_in_their_order_and_then_the_default() -> None:
    def echo(request: ServedRequest) -> str:
        return request.document["messages"][0]["content"]

    with ModelServer("one", echo, default="else") as server:
        server.answer_with(ModelReply("three"))
        said = [json.loads(ask(server)[1])["choices"][0]["message"]["content"] for _ in range(4)]
    assert said == ["one", "a canary prompt", "three", "else"]
    assert [call.key for call in server.calls] == [KEY] * 4


@each_case(
    "method, path, key, status",
    ("POST", "/chat/completions", KEY, 200),
    ("POST", "/chat/completions", "other", 401),
    ("GET", "/models", KEY, 200),
    ("GET", "/models", "other", 401),
    ("GET", "/chat/completions", KEY, 404),
    ("POST", "/models", KEY, 404),
)
def test_routes_and_keys(method: str, path: str, key: str, status: int) -> None:
    with ModelServer(models=("tiny", "large"), key=key) as server:
        found, content = ask(server, path, method)
    assert found == status
    if (method, status) == ("GET", 200):
        assert [model["id"] for model in json.loads(content)["data"]] == ["tiny", "large"]


def test_one_connection_can_send_several_requests() -> None:
    with ModelServer() as server:
        url = urlsplit(server.base_url)
        connection = HTTPConnection(url.hostname or "", url.port, timeout=SECONDS)
        for stream in (True, False, True):
            connection.request("POST", url.path + "/chat/completions", json.dumps(QUESTION | {"stream": stream}))
            assert b"server" in connection.getresponse().read()
        assert server.open_connections == 1
        connection.close()


async def test_it_stops_with_its_connections_and_starts_on_the_same_port() -> None:
    server = ModelServer(default=ModelReply(faults=(faults.no_response(),)))
    async with server:
        url = urlsplit(server.base_url)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(b"POST /api/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        async with asyncio.timeout(SECONDS):
            while not server.calls:
                await asyncio.sleep(0.001)
    assert await reader.read() == b""
    assert server.open_connections == 0
    writer.close()
    async with server:
        assert urlsplit(server.base_url) == url


async def test_it_notices_that_the_client_has_closed_the_connection() -> None:
    async with ModelServer(default=ModelReply(faults=(faults.hang_after(20),))) as server:
        await asyncio.to_thread(lambda: open_request(server).close())
        async with asyncio.timeout(SECONDS):
            while not server.calls or server.open_connections:
                await asyncio.sleep(0.001)


def body_of(raw: bytes) -> bytes:
    head, _, body = raw.partition(b"\r\n\r\n")
    if b"Transfer-Encoding: chunked" not in head:
        return body
    pieces: list[bytes] = []
    at = 0
    while (size := int(body[at : (start := body.index(b"\r\n", at) + 2)], 16)) > 0:
        pieces.append(body[start : start + size])
        at = start + size + 2
    return b"".join(pieces)


def is_json(raw: bytes) -> bool:
    try:
        json.loads(body_of(raw))
    except ValueError:
        return False
    return True


def all_events_are_json(raw: bytes) -> bool:
    try:
        return bool(events(body_of(raw)))
    except (ValueError, AssertionError):
        return False


def order(raw: bytes) -> list[bytes]:
    return body_of(raw).split(b"\n\n")


VALID = {
    "lines with CR LF",
    "split at every byte",
    "body until close",
    "gzip",
    "duplicated chunks",
    "re-ordered chunks",
}
GZIP = b"\r\nContent-Encoding: gzip\r\n"
STREAM_FAULTS: dict[str, Callable[[bytes], bool]] = {
    "duplicated chunks": lambda raw: order(raw)[0] == order(raw)[1],
    "re-ordered chunks": lambda raw: b"[DONE]" not in order(raw)[-2],
    "malformed JSON": lambda raw: b"[{\n\n" in raw and not all_events_are_json(raw),
    "error in the stream": lambda raw: b'"Upstream failed."' in raw,
    "missing [DONE]": lambda raw: b"[DONE]" not in raw,
    "missing finish reason": lambda raw: b'"finish_reason":"' not in raw,
    "trailing garbage": lambda raw: body_of(raw).endswith(b"</html>"),
    "lines with CR LF": lambda raw: b"}\r\n\r\n" in body_of(raw),
    "split at every byte": lambda raw: b"\r\n1\r\nd\r\n1\r\na\r\n" in raw,
    "cut before the body": lambda raw: raw.endswith(b"\r\n\r\n") and raw.count(b"\r\n\r\n") == 1,
    "cut in the middle": lambda raw: len(raw) < 700 and not raw.endswith(b"0\r\n\r\n"),
    "text/plain": lambda raw: b"Content-Type: text/plain\r\n" in raw,
    "HTML page": lambda raw: body_of(raw).startswith(b"<!doctype"),
    "redirect": lambda raw: raw.startswith(b"HTTP/1.1 307") and b"Location: http://169.254.169.254" in raw,
    "Content-Length too large": lambda raw: declared(raw) == len(body_of(raw)) + 10,
    "Content-Length too small": lambda raw: declared(raw) == len(body_of(raw)) - 10,
    "body until close": lambda raw: b"Transfer-Encoding" not in raw and declared(raw) is None,
    "not HTTP": lambda raw: raw.startswith(b"SSH-"),
    "broken chunk": lambda raw: raw.endswith(b"zz\r\n"),
    "endless headers": lambda raw: len(raw.partition(b"\r\n\r\n")[0]) > 2**20,
    "gzip": lambda raw: GZIP in raw and b"[DONE]" in gzip.decompress(body_of(raw)),
    "gzip bomb": lambda raw: GZIP in raw and len(raw) < 2**20 and len(zlib.decompress(body_of(raw), 31)) == 256 * 2**20,
    "50 MB answer": lambda raw: len(raw) > 50 * 2**20,
    "invalid UTF-8": lambda raw: b"ser\xffver" in raw,
    "429, Retry-After in seconds": lambda raw: b"HTTP/1.1 429 " in raw and b"\r\nRetry-After: 1\r\n" in raw,
    "401": lambda raw: raw.startswith(b"HTTP/1.1 401 ") and KEY.encode() in raw and b"canary prompt" in raw,
    "content filter before the answer": lambda raw: b'"content_filter"' in raw,
    "429, quota used up": lambda raw: b'"insufficient_quota"' in raw,
}
WHOLE_FAULTS: dict[str, Callable[[bytes], bool]] = {
    **{name: check for name, check in STREAM_FAULTS.items() if "Length" in name or "HT" in name or name == "401"},
    "malformed JSON": lambda raw: not is_json(raw),
    "trailing garbage": lambda raw: not is_json(raw) and body_of(raw).endswith(b"</html>"),
    "cut in the middle": lambda raw: not is_json(raw),
    "invalid UTF-8": lambda raw: b"ser\xffver" in raw,
    "null": lambda raw: body_of(raw) == b"null",
    "50 MB answer": lambda raw: len(raw) > 50 * 2**20 and is_json(raw),
}


def declared(raw: bytes) -> int | None:
    lines = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return next((int(line.split()[1]) for line in lines if line.startswith(b"Content-Length")), None)


@pytest.mark.parametrize("stream", [True, False])
def test_a_fault_changes_what_it_says(stream: bool) -> None:
    checks = STREAM_FAULTS if stream else WHOLE_FAULTS
    with ModelServer() as server:
        good = exchange(server, stream)
        for name, check in checks.items():
            assert not check(good), f"{name}: holds without the fault too"
            server.answer_with(ModelReply(faults=(faults.ALL[name],)))
            assert check(exchange(server, stream)), name


@each_case(
    "fault, wanted",
    (faults.slow_first_byte(3600), 0),
    (faults.hang_after(30), 30),
    (faults.hang_after(0), 0),
)
def test_a_slow_server_sends_so_much_and_then_nothing(fault: Fault, wanted: int) -> None:
    with ModelServer(default=ModelReply(faults=(fault,))) as server, open_request(server, False) as peer:
        received = b""
        while b"\r\n\r\n" not in received or len(body_of(received)) < wanted:
            received += peer.recv(65_536)
        assert len(body_of(received)) == wanted
        peer.setblocking(False)
        with pytest.raises(BlockingIOError):
            peer.recv(1)


def test_without_a_response_not_even_a_header_arrives() -> None:
    with ModelServer(default=ModelReply(faults=(faults.no_response(),))) as server, open_request(server) as peer:
        while not server.calls:
            assert server.open_connections <= 1
        peer.setblocking(False)
        with pytest.raises(BlockingIOError):
            peer.recv(1)


def test_dripping_sends_one_byte_at_a_time() -> None:
    reply = ModelReply("Hi", faults=(faults.drip(100_000),))
    with ModelServer(default=reply) as server, open_request(server) as peer:
        raw = receive(peer)
    assert all_events_are_json(raw)
    assert b"\r\n1\r\nd\r\n1\r\na\r\n" in raw


def test_faults_can_be_combined() -> None:
    with ModelServer(default=ModelReply(faults=(faults.missing_done(), faults.cut_after(40)))) as server:
        assert len(exchange(server, stream=False)) < len(exchange(server)) < 400
