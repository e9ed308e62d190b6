"""The answers of the model server, and their form on the wire of each server that it imitates.

All of them speak OpenAI's chat completions, and differ where the specification says nothing: the first and the last
chunk, where the token usage is, comments, ids, additional members.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from weftwork.testing.model_server.response import Fault, ServedRequest, WireResponse

CREATED: Final = 1_735_689_600
DONE: Final = b"data: [DONE]\n\n"


class ToolCall(msgspec.Struct, frozen=True):
    """A call of a function. `arguments` is the JSON text that the model sends, which need not be valid JSON."""

    name: str
    arguments: str = "{}"
    id: str = "call_1"


class ModelReply(msgspec.Struct, frozen=True):
    """One answer of the server."""

    text: str = "Hello from the model server."
    pieces: Iterable[str] | None = None
    """The text by streamed chunk. None: one chunk for each word. The server takes the next piece when it is due, so a
    generator can make it at that time."""
    dialect: str = "openai"
    """A name of DIALECTS."""
    finish: str = "stop"
    """`stop`, `length`, `content_filter` or `tool_calls`, as the wire names them."""
    refusal: str | None = None
    """The text with which the model refuses; `text` is not sent then."""
    tool_calls: Sequence[ToolCall] = ()
    """`text` is not sent then, and `finish` is `tool_calls`."""
    model: str = ""
    """The model as the server names it; empty: as the request does."""
    input_tokens: int = 12
    output_tokens: int = 7
    cached_tokens: int = 0
    interval: float = 0.0
    """Seconds between two chunks."""
    faults: Sequence[Fault] = ()
    """Applied to the response in this order."""

    @property
    def has_text(self) -> bool:
        return self.refusal is None and not self.tool_calls

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.tool_calls else self.finish

    def chunks_of_text(self) -> Iterable[str]:
        if self.pieces is not None:
            return self.pieces
        words = self.text.split(" ")
        return [word if at == 0 else f" {word}" for at, word in enumerate(words)] if self.text else []


class Dialect(msgspec.Struct, frozen=True):
    """What one server does differently from OpenAI."""

    id: str = "chatcmpl-BTx1"
    more: dict[str, Any] = {}
    """Additional members of every chunk and of the whole answer."""
    role_chunk: dict[str, Any] | None = msgspec.field(default_factory=lambda: {"role": "assistant", "content": ""})
    """The delta of the first chunk; None: there is no chunk without text before the text."""
    repeats_role: bool = False
    """Whether the role is in every delta."""
    last_delta: dict[str, Any] = {}
    """The delta of the chunk with the finish reason."""
    choice: dict[str, Any] = {}
    """Additional members of every choice."""
    usage_choices: list[dict[str, Any]] = []
    """The `choices` of the chunk with the token usage."""
    usage_more: dict[str, Any] = {}
    """Additional members of that chunk."""
    preamble: tuple[bytes, ...] = ()
    """Sent before the first chunk."""
    has_details: bool = True
    """Whether the token usage says how many input tokens came from a cache."""
    splits_arguments: bool = True
    """Whether the arguments of a tool call arrive in several chunks."""


_SAFE: Final = {"hate": {"filtered": False, "severity": "safe"}}


def _event(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


_AZURE_FIRST: Final = {
    "choices": [],
    "created": 0,
    "id": "",
    "model": "",
    "object": "",
    "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": _SAFE}],
}

DIALECTS: Final[dict[str, Dialect]] = {
    "openai": Dialect(
        more={"service_tier": "default", "system_fingerprint": "fp_44709d6fcb"},
        role_chunk={"role": "assistant", "content": "", "refusal": None},
        choice={"logprobs": None},
    ),
    "azure": Dialect(
        more={"system_fingerprint": "fp_57db37749c"},
        role_chunk={"role": "assistant", "content": "", "refusal": None},
        choice={"logprobs": None, "content_filter_results": _SAFE},
        preamble=(_event(_AZURE_FIRST),),
    ),
    "vllm": Dialect(
        "chatcmpl-0f7dd1f2a4b14c0e",
        last_delta={"content": ""},
        choice={"logprobs": None, "stop_reason": None},
        has_details=False,
    ),
    "llama.cpp": Dialect(
        "chatcmpl-XYR2gVQs8BLl",
        {"system_fingerprint": "b5020-1a85949067"},
        role_chunk={"role": "assistant", "content": None},
        usage_more={"timings": {"prompt_n": 12, "prompt_ms": 35.1, "predicted_n": 7, "predicted_ms": 94.2}},
        has_details=False,
    ),
    "ollama": Dialect(
        "chatcmpl-418",
        {"system_fingerprint": "fp_ollama"},
        role_chunk=None,
        repeats_role=True,
        last_delta={"role": "assistant", "content": ""},
        has_details=False,
        splits_arguments=False,
    ),
    "groq": Dialect(
        "chatcmpl-6f1cbb34",
        {"system_fingerprint": "fp_9b0c1a", "x_groq": {"id": "req_01jbd6g2qdfw2adyrt"}},
        choice={"logprobs": None},
        has_details=False,
        splits_arguments=False,
    ),
    "openrouter": Dialect(
        "gen-1735689600-aZkQ",
        {"provider": "OpenAI"},
        role_chunk=None,
        repeats_role=True,
        last_delta={"role": "assistant", "content": ""},
        choice={"native_finish_reason": None, "logprobs": None},
        usage_choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
        preamble=(b": OPENROUTER PROCESSING\n\n",),
    ),
    "lmstudio": Dialect(
        "chatcmpl-fl3s", {"system_fingerprint": "tiny"}, role_chunk=None, repeats_role=True, has_details=False
    ),
}
"""The servers that the model server imitates, with the chunks that they send."""


def reply_response(reply: ModelReply, request: ServedRequest) -> WireResponse:
    """The response of a server to a request for a chat completion, without the faults of the reply."""
    if request.is_streamed:
        content_type = ("Content-Type", "text/event-stream; charset=utf-8")
        return WireResponse(200, (content_type,), _Stream(reply, request), "chunked", interval=reply.interval)
    content = json.dumps(_whole_answer(reply, request), ensure_ascii=False).encode()
    return WireResponse(200, (("Content-Type", "application/json"),), (content,))


def error_response(status: int, message: str, code: str | None = None, kind: str = "server_error") -> WireResponse:
    """An error in OpenAI's form."""
    error = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return WireResponse(status, (("Content-Type", "application/json"),), (json.dumps(error).encode(),))


class _Stream:
    """The events of a streamed answer. Each iteration starts from the beginning."""

    def __init__(self, reply: ModelReply, request: ServedRequest) -> None:
        self._reply = reply
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        reply, dialect = self._reply, DIALECTS[self._reply.dialect]
        yield from dialect.preamble
        envelope = _envelope(reply, self._request, "chat.completion.chunk")
        for delta in _deltas(reply, dialect):
            yield _event({**envelope, "choices": [_choice(dialect, delta, None)]})
        yield _event({**envelope, "choices": [_choice(dialect, dialect.last_delta, reply.finish_reason)]})
        if self._request.wants_usage:
            usage = _usage(reply, dialect)
            yield _event({**envelope, "choices": dialect.usage_choices, "usage": usage, **dialect.usage_more})
        yield DONE


def _deltas(reply: ModelReply, dialect: Dialect) -> Iterator[dict[str, Any]]:
    role: dict[str, Any] = {"role": "assistant"} if dialect.repeats_role else {}
    if dialect.role_chunk is not None:
        yield dialect.role_chunk
    if reply.refusal is not None:
        yield {**role, "refusal": reply.refusal}
    for at, call in enumerate(reply.tool_calls):
        function = {"name": call.name, "arguments": "" if dialect.splits_arguments else call.arguments}
        yield {**role, "tool_calls": [{"index": at, "id": call.id, "type": "function", "function": function}]}
        if dialect.splits_arguments:
            half = len(call.arguments) // 2
            for part in (call.arguments[:half], call.arguments[half:]):
                yield {**role, "tool_calls": [{"index": at, "function": {"arguments": part}}]}
    if reply.has_text:
        for piece in reply.chunks_of_text():
            yield {**role, "content": piece}


def _whole_answer(reply: ModelReply, request: ServedRequest) -> dict[str, Any]:
    dialect = DIALECTS[reply.dialect]
    text = "".join(reply.chunks_of_text()) if reply.has_text else None
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.tool_calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason, **dialect.choice}
    answer = {**_envelope(reply, request, "chat.completion"), "choices": [choice], "usage": _usage(reply, dialect)}
    return {**answer, **dialect.usage_more}


def _envelope(reply: ModelReply, request: ServedRequest, kind: str) -> dict[str, Any]:
    dialect = DIALECTS[reply.dialect]
    model = reply.model or request.model
    return {"id": dialect.id, "object": kind, "created": CREATED, "model": model, **dialect.more}


def _choice(dialect: Dialect, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish, **dialect.choice}


def _usage(reply: ModelReply, dialect: Dialect) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }
    if dialect.has_details or reply.cached_tokens:
        usage["prompt_tokens_details"] = {"cached_tokens": reply.cached_tokens, "audio_tokens": 0}
    return usage


Answer = ModelReply | str
AnswerFunction = Callable[[ServedRequest], Answer]
