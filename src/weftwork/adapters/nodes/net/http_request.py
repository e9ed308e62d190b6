"""The node type core.http.request: sends one request with the guarded client.

The body of the response becomes a JSON value, a text, or base64 text.
"""

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable
from functools import partial
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
"""Larger JSON bodies are decoded in a thread, so that they do not block the event loop."""
STEP_NAME: Final = "request"
_JSON_CONTENT_TYPE: Final = "application/json"
_TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed."""
_JSON_TYPE: Final = re.compile(r"(application|text)/([\w.+-]+\+)?json")
_TEXT_TYPE: Final = re.compile(
    r"text/.*|application/([\w.+-]+\+)?(json|xml|javascript|x-www-form-urlencoded|yaml|graphql)"
)
_CHARSETS: Final = {"": "utf-8", "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "iso-8859-1": "latin-1"}


def http_nodes(outbound: Outbound | None) -> tuple[NodeType, ...]:
    """The node types that send requests with this client. Without a client they are declared, but fail."""

    async def request(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if outbound is None:
            return Failed("fetch_failed", "This host has no HTTP client, so it cannot send requests.", retryable=False)
        request = await context.compute(partial(_build_request, call, context))
        return await _RequestStep(outbound, request, call, context).outcome()

    return (WaitingNode(HTTP_REQUEST, request),)


class _RequestStep:
    """Sends the request of one node call, as a recorded step unless the method is safe."""

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
            response = await self._step()
        except StepFailed as failed:
            return failed.failure
        except NotDone:
            # The reason is known only if the step ran in this call, not if its record was read.
            return self._transient_failure or Failed("fetch_failed", "The request could not be sent.")
        if not is_object(response):
            # A person supplied the result of the step, and may have entered only the body.
            return Completed({} if response is None else {"body": response})
        return self._status_failure(response) or Completed(response)

    async def _step(self) -> Any:
        if self._request.method in SAFE_METHODS:
            return await self._send()
        run: Callable[[], Awaitable[Any]] = self._send
        return await self._context.step(STEP_NAME, self._effect, run)

    async def _send(self) -> dict[str, Any]:
        """The outputs. Raises NotDone if the request may be sent again, else StepFailed."""
        try:
            response = await self._outbound.fetch(self._request)
        except FetchRefused as refused:
            details = {"blocked": refused.blocked}
            raise StepFailed(Failed("ssrf_blocked", str(refused), details, retryable=False)) from None
        except FetchFailed as failed:
            repeatable = not failed.sent or self._effect == "idempotent"
            failure = Failed("fetch_failed", str(failed), {"sent": failed.sent}, retryable=repeatable)
            raise self._error_for(failure) from None
        outputs = await _outputs(response)
        failure = self._status_failure(outputs)
        if failure is not None and failure.retryable:
            raise self._error_for(failure)
        return outputs

    def _error_for(self, failure: Failed) -> StepFailed | NotDone:
        if not failure.retryable:
            return StepFailed(failure)
        self._transient_failure = failure
        return NotDone()

    def _status_failure(self, outputs: dict[str, Any]) -> Failed | None:
        status = outputs.get("status", 0)
        if not isinstance(status, int) or status < 400 or not self._fail_on_status:
            # The status can be absent or of any type if a person supplied the result of the step.
            return None
        retryable = self._effect == "idempotent" and status in _TRANSIENT_STATUSES
        return Failed("http_status", f"The response has the status {status}.", {"status": status}, retryable=retryable)


def _build_request(call: NodeCall, context: NodeContext) -> OutboundRequest:
    """Raises StepFailed, ExpressionFault."""
    config = call.config
    method: str = config.get("method", "GET")
    url = call.inputs["url"] if "url" in call.inputs else config.get("url") and render(call, config["url"])
    if not url:
        message = "The node has no URL: set the input url or the config url."
        raise StepFailed(Failed("node_input_missing", message, retryable=False))
    headers = {name.lower(): (name, render(call, text)) for name, text in sorted(config.get("headers", {}).items())}
    headers |= {name.lower(): (name, text) for name, text in call.inputs.get("headers", {}).items()}
    content, content_type = _build_content(call)
    if content_type:
        headers.setdefault("content-type", ("Content-Type", content_type))
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
    """The request body and its content type; both are empty without a body. Raises ExpressionFault."""
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
    status = {"status": response.status, "ok": 200 <= response.status < 300, "url": response.url}
    return {**status, "headers": headers, "body": body, "binary": binary}


async def read_body(content: bytes, content_type: str) -> tuple[Any, bool]:
    """The body as a value, and whether it is base64. Invalid JSON is returned as text, undecodable text as base64."""
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
    parameter = re.search(r"charset=\"?([\w.:-]+)", parameters)
    charset = _CHARSETS.get(parameter[1] if parameter else "")
    if charset is None:
        return None
    try:
        text = content.decode(charset)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


HTTP_REQUEST: Final = NodeDeclaration(
    "core.http.request",
    "Sends an HTTP request and returns the response.",
    effect="idempotent",
    instant=False,
    resumes_after_crash=False,
    external_content=True,
    inputs=schemas.port_schema(
        url=schemas.typed("string", "The URL. Overrides the config."),
        headers=schemas.typed(
            "object",
            "Request headers, added to those of the config. They override headers of the same name.",
            additionalProperties=schemas.typed("string", "The value of the header."),
        ),
        body=schemas.any_value(
            "The request body. Overrides the config. A text is sent unchanged, any other value as JSON."
        ),
    ),
    outputs=schemas.fixed_ports(
        status=schemas.typed("integer", "The HTTP status."),
        ok=schemas.typed("boolean", "Whether the status is between 200 and 299."),
        url=schemas.typed("string", "The URL of the response, after redirects."),
        headers=schemas.typed("object", "The response headers, with lowercase names."),
        body=schemas.any_value("The response body: JSON as a value, other text as text, anything else as base64."),
        binary=schemas.typed("boolean", "Whether `body` is base64."),
    ),
    config=schemas.closed_object(
        rules={"dependentSchemas": {"body": {"properties": {"json": False}}}},
        method=schemas.one_of(METHODS, "The HTTP method.", default="GET"),
        url=schemas.template_string("The URL, if no input has one."),
        headers=schemas.keyed_object(
            schemas.template_string("The value of the header.", 0), "Request headers: a name and its value."
        ),
        body=schemas.template_string(
            "The request body as text, if no input has a body. Cannot be combined with `json`.", 0
        ),
        json=schemas.any_value("The request body as a value that is sent as JSON, if no input has a body."),
        timeoutMs=schemas.integer(
            1,
            MAX_TIMEOUT_MS,
            "The timeout for the whole request in milliseconds. The limit of the host applies if it is shorter.",
        ),
        followRedirects=schemas.typed("boolean", "Whether the node follows redirects.", default=True),
        failOnStatus=schemas.typed("boolean", "Whether a status of 400 or more fails the node.", default=True),
        effect=schemas.one_of(
            ("once", "idempotent"),
            "For POST and PATCH: set `idempotent` if the server supports the header `Idempotency-Key`.",
            default="once",
        ),
    ),
    templates={"/url": (), "/headers/*": (), "/body": ()},
    notes="""
The node uses the [guarded client](../../operate/security.md#requests-to-others), which sends requests only to public
addresses, over https and within the limits of the host. The response can have up to 4 MiB, and is
[untrusted](../../concepts.md#trust).

| problem | the node fails with |
|---|---|
| The guarded client refuses the request. | `ssrf_blocked` |
| The request cannot be sent, or the response cannot be read. | `fetch_failed` |
| The status is 400 or more, and `failOnStatus` is true. | `http_status`; the details contain the `status` |

Error messages contain no part of the response.

Whether a request is sent again after a failure or a crash depends on the method. After a failure, the host retries the
node only if its settings have `maxRetries`.

- GET, HEAD and OPTIONS are sent again after a crash, and in every attempt of the node.
- PUT and DELETE, and POST and PATCH with the effect `idempotent`, are sent again after a crash, and by a retry after a
  failed request or one of the statuses 408, 425, 429, 500, 502, 503 and 504.
- POST and PATCH with the effect `once` are sent once. If the host crashes before it has recorded the response, the run
  requests an interrupt that asks a person for the result. If the request fails, the node fails and is not retried,
  unless no part of the request was sent.

All methods except GET, HEAD and OPTIONS are sent with an `Idempotency-Key` header that is the same in every attempt,
unless the headers contain one.
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
