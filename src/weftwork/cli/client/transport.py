"""One request to a host and its answer, with the standard library alone."""

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
"""Seconds. 0 would mean not to wait at all, which is another thing than no time left."""


class OpenResponse:
    """A response whose body is still to be read."""

    def __init__(
        self, response: http.client.HTTPResponse, line: socket.socket, timeout: float, close: Callable[[], None]
    ) -> None:
        self.response = response
        self.media_type = response.headers.get_content_type() if "Content-Type" in response.headers else ""
        self.close = close
        self._socket = line
        self._timeout = timeout

    def set_timeout(self, seconds: float | None) -> None:
        """How long the next read may take, if that is less than usual."""
        self._socket.settimeout(self._timeout if seconds is None else max(_MIN_TIMEOUT, min(seconds, self._timeout)))


class Transport:
    """Where a host is and what it is told with every request. Each request has a connection of its own."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        self._base = _parse_base_url(url)
        self.url = self._base.geturl()
        self.has_key = bool(key)
        self._timeout = timeout
        self._headers = {"User-Agent": "weftwork"}
        if key:
            if not _is_single_word(key):
                raise click.UsageError("the key holds a character that no key can have; see --key and WEFTWORK_KEY.")
            self._headers["Authorization"] = f"Bearer {key}"

    def request(self, method: str, path: str, **more: Any) -> Any:
        """The decoded answer; `more` is as for `open`. Raises RequestRefused, HostUnreachable or ConnectionLost."""
        with closing(self.open(method, path, **more)) as opened:
            return self._decode(self._read(opened.response))

    def download(self, path: str, query: Mapping[str, Any], heard: Callable[[int], None]) -> bytes:
        """The bytes of the answer; `heard` is called with the number received so far. Raises as `request` does."""
        with closing(self.open("GET", path, query=query)) as opened:
            return self._read(opened.response, heard)

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        most: float | None = None,
    ) -> OpenResponse:
        """An answer with 2xx, its body unread; it begins within `most` seconds, if that is less than usual."""
        sent = {**self._headers, "Accept": _JSON, **(headers or {})}
        data = None
        if isinstance(body, Upload):
            data = body
            sent |= body.headers
        elif body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = _JSON
        target = self._base.path + path + (f"?{text}" if (text := _encode_query(query or {})) else "")
        host, port = self._base.hostname or "", self._base.port
        timeout = self._timeout if most is None else max(_MIN_TIMEOUT, min(most, self._timeout))
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
            line: socket.socket = connection.sock
            try:
                with suppress(BrokenPipeError, ConnectionResetError):
                    # A host may refuse before it has read everything; its answer is there all the same.
                    connection.request(method, target, data, sent)
                response = connection.getresponse()
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise self.connection_lost(error) from None
            if response.status >= 300:
                raise self._error_of(response, path)
        except BaseException:
            connection.close()
            raise
        return OpenResponse(response, line, self._timeout, connection.close)

    def _read(self, response: http.client.HTTPResponse, heard: Callable[[int], None] | None = None) -> bytes:
        data = bytearray()
        try:
            if heard is None:
                data += response.read(MAX_RESPONSE_BYTES + 1)
            else:
                while len(data) <= MAX_RESPONSE_BYTES and (piece := response.read(_CHUNK_BYTES)):
                    data += piece
                    heard(len(data))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self.connection_lost(error) from None
        if response.length and len(data) <= MAX_RESPONSE_BYTES:
            # The standard library is silent when it was told how much to read.
            raise self.connection_lost(http.client.IncompleteRead(b""))
        if len(data) > MAX_RESPONSE_BYTES:
            raise HostUnreachable(
                f"the answer of {self.url} is larger than {MAX_RESPONSE_BYTES // 2**20} MiB and was not read."
            )
        return bytes(data)

    def _decode(self, data: bytes) -> Any:
        if not data.strip():
            return None
        try:
            return decode(data)
        except ClientFault as fault:
            raise HostUnreachable(
                f"{self.url} answers with something that cannot be read: {fault.message} See that --url names the "
                "base address of an OpenWOP host."
            ) from None

    def _error_of(self, response: http.client.HTTPResponse, path: str) -> RequestRefused | HostUnreachable:
        try:
            document = self._decode(self._read(response))
        except HostUnreachable:
            document = None
        if response.status in NOT_OFFERED and self._base.path.endswith(VERSION_PREFIX):
            # What people paste. No route of any host begins with it twice.
            wanted = self.url.removesuffix(VERSION_PREFIX)
            said = f"{self.url} has no {clean(path, 200)}"
            return HostUnreachable(f"{said}; name the host without {VERSION_PREFIX}: --url {wanted}")
        code, message, details = _error_fields(document)
        if 300 <= response.status < 400:
            message = f"the host sends on to {clean(response.headers.get('Location', 'another address'), 200)}"
        if not message:
            message = f"{self.url} answers {response.status} {clean(response.reason, 60)}".rstrip()
        wait = _retry_after(response.headers.get("Retry-After"), details)
        return RequestRefused(response.status, code, message, details, keyed=self.has_key, retry_after=wait)

    def _connect_error_text(self, error: Exception) -> str:
        """Why no connection came about, and what to do."""
        host = clean(self._base.hostname or "", 200)
        if isinstance(error, ConnectionRefusedError):
            return f"nothing listens on {self.url}; start a host with `weftwork serve` or name another with --url."
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the certificate of {host} is not trusted: {clean(error.verify_message)}; see --url."
        if isinstance(error, ssl.SSLError):
            return f"{host} does not speak TLS there; if it is a host without, start --url with http://."
        if isinstance(error, TimeoutError):
            return (
                f"{self.url} does not answer within {self._timeout:g} s; see that it runs, or name another with --url."
            )
        if isinstance(error, UnicodeError | socket.gaierror):
            return f"there is no machine named {host}; name another with --url."
        said = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        return f"{self.url} cannot be reached: {clean(said)}; name another with --url."

    def connection_lost(self, error: Exception) -> ConnectionLost:
        """What to say when an answer ends early."""
        if isinstance(error, TimeoutError):
            return ReadTimeout(f"{self.url} says nothing for {self._timeout:g} s; see that it is well, or try again.")
        if isinstance(error, http.client.BadStatusLine) and not isinstance(error, http.client.RemoteDisconnected):
            return ConnectionLost(
                f"{self.url} does not speak HTTP; see --url, also whether it must start with https://."
            )
        return ConnectionLost(f"the connection to {self.url} broke before its answer was complete; try again.")


def _parse_base_url(url: str) -> SplitResult:
    """A base address. What stands in it is printed, so it may hold no secret."""
    text = url.strip()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not _is_single_word(text):
        raise click.UsageError("--url must look like http://127.0.0.1:8787 or https://host.example/base.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise click.UsageError("--url takes no user, password, query or fragment; give the key with --key.")
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
    """Code, message and details of an error document: the protocol's, or whatever else a host may say."""
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
    """How long the host asks to wait; a date is not taken, since the two clocks may differ."""
    for value in (header, details.get("retryAfter")):
        try:
            wait = float(value) if isinstance(value, str | int | float) else -1.0
        except ValueError:
            continue
        if 0 <= wait < 10**9:
            return wait
    return None
