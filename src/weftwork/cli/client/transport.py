"""HTTP requests to a host, with the standard library only."""

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from typing import Any, Final, cast
from urllib.parse import SplitResult, urlencode, urlsplit

import click

from weftwork.cli.client.errors import NOT_OFFERED, ConnectionLost, HostUnreachable, ReadTimeout, RequestRefused
from weftwork.cli.client.upload import Upload
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.text import clean
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import VERSION_PREFIX

MAX_RESPONSE_BYTES: Final = 64 * 2**20
_JSON: Final = "application/json"
_CHUNK_BYTES: Final = 65_536
_MIN_TIMEOUT: Final = 0.001
"""Seconds. A socket timeout of 0 would mean non-blocking mode."""


class OpenResponse:
    """A response with an unread body."""

    def __init__(
        self, response: http.client.HTTPResponse, connection: socket.socket, timeout: float, close: Callable[[], None]
    ) -> None:
        self.response = response
        self.media_type = response.headers.get_content_type() if "Content-Type" in response.headers else ""
        self.close = close
        self._socket = connection
        self._timeout = timeout

    def set_timeout(self, seconds: float | None) -> None:
        """Limit the next read to `seconds`, if that is less than the default timeout."""
        self._socket.settimeout(self._timeout if seconds is None else max(_MIN_TIMEOUT, min(seconds, self._timeout)))


class Transport:
    """The base URL of a host and the headers of every request. Each request opens a new connection."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        self._base = _parse_base_url(url)
        self.url = self._base.geturl()
        self.has_key = bool(key)
        self._timeout = timeout
        self._headers = {"User-Agent": "weftwork"}
        if key:
            if not _is_single_word(key):
                raise click.UsageError(
                    "the API key contains a space or a non-ASCII character; check --key and WEFTWORK_KEY."
                )
            self._headers["Authorization"] = f"Bearer {key}"

    def request(self, method: str, path: str, **options: Any) -> Any:
        """The decoded body; `options` as for `open`. Raises RequestRefused, HostUnreachable or ConnectionLost."""
        with closing(self.open(method, path, **options)) as opened:
            return self._decode(self._read(opened.response))

    def download(self, path: str, query: Mapping[str, Any], on_progress: Callable[[int], None]) -> bytes:
        """The body's bytes; `on_progress` is called with the number received so far. Raises as `request` does."""
        with closing(self.open("GET", path, query=query)) as opened:
            return self._read(opened.response, on_progress)

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        max_seconds: float | None = None,
    ) -> OpenResponse:
        """A 2xx response with an unread body. Waits at most `max_seconds` for it, or the default timeout if shorter."""
        request_headers = {**self._headers, "Accept": _JSON, **(headers or {})}
        data = None
        if isinstance(body, Upload):
            data = body
            request_headers |= body.headers
        elif body is not None:
            data = json.dumps(body).encode()
            request_headers["Content-Type"] = _JSON
        target = self._base.path + path + (f"?{text}" if (text := _encode_query(query or {})) else "")
        host, port = self._base.hostname or "", self._base.port
        timeout = self._timeout if max_seconds is None else max(_MIN_TIMEOUT, min(max_seconds, self._timeout))
        if self._base.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        try:
            try:
                connection.connect()
            except (OSError, UnicodeError) as error:
                raise HostUnreachable(self._connect_error_text(error)) from None
            sock: socket.socket = connection.sock
            try:
                with suppress(BrokenPipeError, ConnectionResetError):
                    # A host may refuse a request before it has read the body; its response can still be read.
                    connection.request(method, target, data, request_headers)
                response = connection.getresponse()
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise self.connection_lost(error) from None
            if response.status >= 300:
                raise self._error_of(response, path)
        except BaseException:
            connection.close()
            raise
        return OpenResponse(response, sock, self._timeout, connection.close)

    def _read(self, response: http.client.HTTPResponse, on_progress: Callable[[int], None] | None = None) -> bytes:
        data = bytearray()
        try:
            if on_progress is None:
                data += response.read(MAX_RESPONSE_BYTES + 1)
            else:
                while len(data) <= MAX_RESPONSE_BYTES and (chunk := response.read(_CHUNK_BYTES)):
                    data += chunk
                    on_progress(len(data))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self.connection_lost(error) from None
        if response.length and len(data) <= MAX_RESPONSE_BYTES:
            # http.client does not raise IncompleteRead from read(amount).
            raise self.connection_lost(http.client.IncompleteRead(b""))
        if len(data) > MAX_RESPONSE_BYTES:
            raise HostUnreachable(
                f"the response of {self.url} is larger than {MAX_RESPONSE_BYTES // 2**20} MiB and was discarded."
            )
        return bytes(data)

    def _decode(self, data: bytes) -> Any:
        if not data.strip():
            return None
        try:
            return decode(data)
        except ClientFault as fault:
            raise HostUnreachable(
                f"the response of {self.url} is not valid JSON: {fault.message} Check that --url is the base URL of an "
                "OpenWOP host."
            ) from None

    def _error_of(self, response: http.client.HTTPResponse, path: str) -> RequestRefused | HostUnreachable:
        try:
            document = self._decode(self._read(response))
        except HostUnreachable:
            document = None
        if response.status in NOT_OFFERED and self._base.path.endswith(VERSION_PREFIX):
            # A common mistake: a pasted URL that ends with /v1. No route has the prefix twice.
            base_url = self.url.removesuffix(VERSION_PREFIX)
            text = f"{self.url} has no {clean(path, 200)}"
            return HostUnreachable(f"{text}; pass the base URL without {VERSION_PREFIX}: --url {base_url}")
        code, message, details = _error_fields(document)
        if 300 <= response.status < 400:
            location = clean(response.headers.get("Location", "another address"), 200)
            message = f"the host redirects to {location}, and redirects are not followed"
        if not message:
            message = f"{self.url} responded with {response.status} {clean(response.reason, 60)}".rstrip()
        wait = _retry_after(response.headers.get("Retry-After"), details)
        return RequestRefused(response.status, code, message, details, has_key=self.has_key, retry_after=wait)

    def _connect_error_text(self, error: Exception) -> str:
        """Why the connection failed, and what to do."""
        host = clean(self._base.hostname or "", 200)
        if isinstance(error, ConnectionRefusedError):
            return (
                f"no host is listening on {self.url}; start one with `weftwork serve`, or pass another address with "
                "--url or WEFTWORK_URL."
            )
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the TLS certificate of {host} is not trusted: {clean(error.verify_message)}; check --url."
        if isinstance(error, ssl.SSLError):
            return f"{host} does not speak TLS on this port; if the host serves plain HTTP, use http:// in --url."
        if isinstance(error, TimeoutError):
            return (
                f"{self.url} did not respond within {self._timeout:g} s; check that the host is running, or pass "
                "another address with --url."
            )
        if isinstance(error, UnicodeError | socket.gaierror):
            return f"the host name {host} cannot be resolved; check --url."
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        return f"{self.url} cannot be reached: {clean(reason)}; check --url."

    def connection_lost(self, error: Exception) -> ConnectionLost:
        """The error for a response that is missing or incomplete."""
        if isinstance(error, TimeoutError):
            return ReadTimeout(
                f"{self.url} sent nothing for {self._timeout:g} s; check the host with `weftwork doctor`, or try again."
            )
        if isinstance(error, http.client.BadStatusLine) and not isinstance(error, http.client.RemoteDisconnected):
            return ConnectionLost(
                f"{self.url} does not speak HTTP; check --url. If the host uses TLS, start it with https://."
            )
        return ConnectionLost(f"the connection to {self.url} was lost before the response was complete; try again.")


def _parse_base_url(url: str) -> SplitResult:
    """The base URL. User, password and query are rejected, because the URL is printed in messages."""
    text = url.strip()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not _is_single_word(text):
        raise click.UsageError("--url must be an http or https URL, such as http://127.0.0.1:8787.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise click.UsageError(
            "--url must not contain a user, password, query or fragment; pass the key with --key or WEFTWORK_KEY."
        )
    return parts._replace(path=parts.path.rstrip("/"), query="", fragment="")


def _is_single_word(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _encode_query(query: Mapping[str, Any]) -> str:
    def text(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        values: Iterable[Any] = cast("Iterable[Any]", value) if isinstance(value, list | tuple) else (value,)
        pairs += [(name, text(each)) for each in values if each is not None]
    return urlencode(pairs)


def _error_fields(document: Any) -> tuple[str, str, dict[str, Any]]:
    """Code, message and details of an error document: the protocol's, or another common shape (RFC 9457, OAuth)."""
    if not is_object(document):
        return "", "", {}
    inner = document.get("error")
    if is_object(inner):
        document, inner = inner, None
    code = next((each for each in (inner, document.get("code")) if isinstance(each, str)), "")
    texts = (document.get(name) for name in ("message", "detail", "title", "error_description"))
    message = next((each for each in texts if isinstance(each, str) and each), code)
    return code, message, as_object(document.get("details"))


def _retry_after(header: str | None, details: dict[str, Any]) -> float | None:
    """Seconds to wait before a retry. A date is ignored, because the two clocks may differ."""
    for value in (header, details.get("retryAfter")):
        try:
            wait = float(value) if isinstance(value, str | int | float) else -1.0
        except ValueError:
            continue
        if 0 <= wait < 10**9:
            return wait
    return None
