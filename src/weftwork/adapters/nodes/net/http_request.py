"""The node type core.http.request: sends one request with the guarded client.

The body of the answer becomes a value: JSON, text, or base64.
"""

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import render
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.ports.outbound import FetchFailed, FetchRefused, Outbound, OutboundRequest, OutboundResponse
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import MAX_VALUE_TEXT, is_object
from weftwork.protocol.net.outbound import IDEMPOTENT_METHODS, METHODS, SAFE_METHODS
from weftwork.protocol.workflow.node_types import Effect, NodeDeclaration

MAX_TIMEOUT_MS: Final = 600_000

THREAD_DECODE_BYTES: Final = 65_536
"""Bytes of JSON that are decoded beside the event loop."""
STEP_NAME: Final = "request"
_JSON_CONTENT_TYPE: Final = "application/json"
_TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may well succeed."""
_JSON_TYPE: Final = re.compile(r"(application|text)/([\w.+-]+\+)?json")
_TEXT_TYPE: Final = re.compile(
    r"text/.*|application/([\w.+-]+\+)?(json|xml|javascript|x-www-form-urlencoded|yaml|graphql)"
)
_CHARSETS: Final = {"": "utf-8", "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "iso-8859-1": "latin-1"}


def http_nodes(outbound: Outbound | None) -> tuple[NodeType, ...]:
    """The node types that send requests by this client; without one they are declared, and fail."""

    async def request(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if outbound is None:
            return Failed("fetch_failed", "This host sends no requests.", retryable=False)
        return await _RequestStep(outbound, _build_request(call, context), call, context).outcome()

    return (WaitingNode(HTTP_REQUEST, request),)


class _RequestStep:
    """One node that sends one request."""

    def __init__(self, outbound: Outbound, request: OutboundRequest, call: NodeCall, context: NodeContext) -> None:
        self._outbound = outbound
        self._request = request
        self._fail_on_status: bool = call.config.get("failOnStatus", True)
        self._context = context
        self._effect: Effect = (
            "idempotent" if request.method in IDEMPOTENT_METHODS else call.config.get("effect", "once")
        )
        self._transient_failure: Failed | None = None

    async def outcome(self) -> NodeOutcome:
        try:
            found = await self._step()
        except StepFailed as failed:
            return failed.failure
        except NotDone:
            # Why the step was not done is known only where it just ran.
            return self._transient_failure or Failed("fetch_failed", "The request could not be sent.")
        if not is_object(found):
            return Completed({} if found is None else {"body": found})
        return self._status_failure(found) or Completed(found)

    async def _step(self) -> Any:
        if self._request.method in SAFE_METHODS:
            return await self._send()
        run: Callable[[], Awaitable[Any]] = self._send
        return await self._context.step(STEP_NAME, self._effect, run)

    async def _send(self) -> dict[str, Any]:
        """The outputs. Raises StepFailed where sending again cannot help or must not happen, else NotDone."""
        try:
            response = await self._outbound.fetch(self._request)
        except FetchRefused as refused:
            details = {"blocked": refused.blocked}
            raise StepFailed(Failed("ssrf_blocked", str(refused), details, retryable=False)) from None
        except FetchFailed as failed:
            repeatable = not failed.sent or self._effect == "idempotent"
            failure = Failed("fetch_failed", str(failed), {"sent": failed.sent}, retryable=repeatable)
            raise self._error_for(failure) from None
        found = await _outputs(response)
        failure = self._status_failure(found)
        if failure is not None and failure.retryable:
            raise self._error_for(failure)
        return found

    def _error_for(self, failure: Failed) -> StepFailed | NotDone:
        if not failure.retryable:
            return StepFailed(failure)
        self._transient_failure = failure
        return NotDone()

    def _status_failure(self, found: dict[str, Any]) -> Failed | None:
        status = found.get("status", 0)
        if not isinstance(status, int) or status < 400 or not self._fail_on_status:
            # A person who was asked what became of the request need not know what an answer looks like.
            return None
        again = self._effect == "idempotent" and status in _TRANSIENT_STATUSES
        return Failed("http_status", f"The answer has the status {status}.", {"status": status}, retryable=again)


def _build_request(call: NodeCall, context: NodeContext) -> OutboundRequest:
    """The request that the node is to send. Raises StepFailed, ExpressionFault."""
    config = call.config
    method: str = config.get("method", "GET")
    url = call.inputs["url"] if "url" in call.inputs else config.get("url") and render(call, config["url"])
    if not url:
        message = "The node needs a URL, as input url or config url."
        raise StepFailed(Failed("node_input_missing", message, retryable=False))
    headers = {name.lower(): (name, render(call, text)) for name, text in config.get("headers", {}).items()}
    headers |= {name.lower(): (name, text) for name, text in call.inputs.get("headers", {}).items()}
    content, kind = _build_content(call)
    if kind:
        headers.setdefault("content-type", ("Content-Type", kind))
    if method not in SAFE_METHODS:
        headers.setdefault("idempotency-key", ("Idempotency-Key", context.effect_key(STEP_NAME)))
    return OutboundRequest(
        url,
        method,
        tuple(headers.values()),
        content,
        timeout_ms=config.get("timeoutMs", 0),
        max_bytes=MAX_VALUE_TEXT,
        redirects=config.get("followRedirects", True),
    )


def _build_content(call: NodeCall) -> tuple[bytes, str]:
    """What is sent, and what it is; both empty if nothing is. Raises ExpressionFault."""
    if "body" in call.inputs and not isinstance(call.inputs["body"], str):
        return msgspec.json.encode(call.inputs["body"]), _JSON_CONTENT_TYPE
    if "body" in call.inputs or "body" in call.config:
        text = call.inputs["body"] if "body" in call.inputs else render(call, call.config["body"])
        return text.encode(), "text/plain; charset=utf-8"
    return (msgspec.json.encode(call.config["json"]), _JSON_CONTENT_TYPE) if "json" in call.config else (b"", "")


async def _outputs(response: OutboundResponse) -> dict[str, Any]:
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    body, binary = await read_body(response.content, headers.get("content-type", ""))
    found = {"status": response.status, "ok": 200 <= response.status < 300, "url": response.url}
    return {**found, "headers": headers, "body": body, "binary": binary}


async def read_body(content: bytes, content_type: str) -> tuple[Any, bool]:
    """The body, and whether it is in base64. What does not keep to its type is taken for the next best thing."""
    kind, _, parameters = content_type.lower().partition(";")
    kind = kind.strip()
    if _JSON_TYPE.fullmatch(kind) and content:
        try:
            return (
                decode(content) if len(content) <= THREAD_DECODE_BYTES else await asyncio.to_thread(decode, content)
            ), False
        except ClientFault:
            pass
    text = _decode_text(content, parameters) if not kind or _TEXT_TYPE.fullmatch(kind) or not content else None
    return (base64.b64encode(content).decode(), True) if text is None else (text, False)


def _decode_text(content: bytes, parameters: str) -> str | None:
    found = re.search(r"charset=\"?([\w.:-]+)", parameters)
    charset = _CHARSETS.get(found[1] if found else "")
    if charset is None:
        return None
    try:
        text = content.decode(charset)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


HTTP_REQUEST: Final = NodeDeclaration(
    "core.http.request",
    "Sends an HTTP request and gives the answer.",
    effect="idempotent",
    instant=False,
    resumes_after_crash=False,
    external_content=True,
    inputs=schemas.port_schema(
        url=schemas.typed("string", "Where to; wins over the config."),
        headers=schemas.typed(
            "object",
            "Headers by name, beside those of the config; they win over them.",
            additionalProperties={"type": "string"},
        ),
        body=schemas.any_value("What to send; wins over the config. A text is sent as it is, anything else as JSON."),
    ),
    outputs=schemas.fixed_ports(
        status=schemas.typed("integer", "The status of the answer."),
        ok=schemas.typed("boolean", "Whether the status is 200 to 299."),
        url=schemas.typed("string", "Where the answer came from, after redirects."),
        headers=schemas.typed("object", "Headers of the answer, with names in lower case."),
        body=schemas.any_value("JSON as a value, other text as text, anything else in base64."),
        binary=schemas.typed("boolean", "Whether the body is in base64."),
    ),
    config=schemas.closed_object(
        rules={"dependentSchemas": {"body": {"properties": {"json": False}}}},
        method=schemas.one_of(METHODS, "The method.", default="GET"),
        url=schemas.template_string("Where to, if no port says."),
        headers=schemas.keyed_object(schemas.template_string("The value of the header.", 0), "Header -> value."),
        body=schemas.template_string("A text to send, if no port brings a body.", 0),
        json=schemas.any_value("A value to send as JSON, if no port brings a body."),
        timeoutMs=schemas.integer(1, MAX_TIMEOUT_MS, "Time for the whole exchange, if less than the host's."),
        followRedirects=schemas.typed("boolean", "Whether to follow redirects.", default=True),
        failOnStatus=schemas.typed("boolean", "Whether a status of 400 or more fails the node.", default=True),
        effect=schemas.one_of(
            ("once", "idempotent"),
            "For POST and PATCH: `idempotent` if the other side honours Idempotency-Key.",
            default="once",
        ),
    ),
    templates={"/url": (), "/headers/*": (), "/body": ()},
    notes="""
The request goes out by the [guarded client](../../operate/security.md#requests-to-others): to public addresses, by
https, within the host's caps. What the guard refuses fails the node with `ssrf_blocked`; what it could not send or
read, with `fetch_failed`; a status of 400 or more, with `http_status` and `details.status`, unless `failOnStatus` is
false. No error repeats anything of the answer. An answer is at most 4 MiB, and
[content from outside](../../concepts.md#trust).

GET, HEAD and OPTIONS are sent again in another attempt. All other methods are sent as a step, with an
`Idempotency-Key` that is the same in every attempt, unless the config names one. PUT and DELETE, and POST and PATCH
with the effect `idempotent`, are sent again with it after a crash, a failure or one of the statuses 408, 425, 429,
500, 502, 503 and 504. POST and PATCH otherwise are sent once: if the host dies before the answer is recorded, the run
asks a person what became of the request. If the answer does not come, the node fails and is not tried again, unless
nothing of the request was sent.
""",
    example_config={
        "method": "POST",
        "url": "https://api.example.com/orders/{{ports.order.id}}/notes",
        "headers": {"Accept": "application/json"},
        "json": {"note": "packed"},
        "effect": "idempotent",
    },
    example_inputs={"order": {"type": "variable", "variableName": "order"}},
)
