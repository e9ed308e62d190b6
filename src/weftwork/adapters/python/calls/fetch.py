"""ctx.fetch: builds the request from the arguments, and converts the response."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from weftwork.adapters.python.values import NotJson, as_json
from weftwork.ports import outbound
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class FetchResponse:
    """The response to a request. Header names are lowercase; repeated headers are joined with commas."""

    __slots__ = ("content", "headers", "status", "url")

    def __init__(self, response: outbound.OutboundResponse) -> None:
        self.status = response.status
        self.content = response.content
        self.url = response.url
        self.headers: dict[str, str] = {}
        for name, value in response.headers:
            known = self.headers.get(name.lower())
            self.headers[name.lower()] = value if known is None else f"{known}, {value}"

    @property
    def text(self) -> str:
        """The content decoded as UTF-8; invalid bytes become U+FFFD."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The content as JSON. Raises ValueError if it is not valid JSON."""
        try:
            return decode(self.content)
        except ClientFault as fault:
            raise ValueError(f"the response is not valid JSON: {fault.message}") from None


def build_request(
    url: str, method: str, headers: Headers, json: Any, content: bytes | str | None, timeout: float | None
) -> outbound.OutboundRequest:
    """Raises ValueError for invalid arguments."""
    pairs = cast("Mapping[str, str]", headers).items() if isinstance(headers, Mapping) else headers
    listed: list[tuple[str, str]] = [*pairs]
    body = content.encode() if isinstance(content, str) else content or b""
    if json is not None:
        if content is not None:
            raise ValueError("a request can have json or content, not both")
        try:
            body = msgspec.json.encode(as_json(json, bounded=False))
        except NotJson as error:
            raise ValueError(f"json is not JSON: {error}") from None
        if not any(name.lower() == "content-type" for name, _ in listed):
            listed.append(("content-type", "application/json"))
    if timeout is not None and not timeout > 0:
        raise ValueError("timeout must be a number of seconds greater than 0")
    milliseconds = max(1, int(timeout * 1000)) if timeout is not None else 0
    return outbound.OutboundRequest(url, method.upper(), tuple(listed), body, milliseconds)
