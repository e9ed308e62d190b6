"""The client of every command that talks to a host: any OpenWOP v1 host, given by its URL and an API key.

Connections are direct, without proxies and redirects, so that the key is sent only to the host. The client prints
nothing except through `notify`, and no message contains the key.
"""

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import copy
from functools import partial
from typing import Any, Final, TypeVar

import click

from weftwork.cli.client.errors import ConnectionLost, DeadlineReached, HostUnreachable, ReadTimeout, RequestRefused
from weftwork.cli.client.event_stream import EventStream, ReceivedFrame
from weftwork.cli.client.transport import Transport
from weftwork.cli.client.upload import Upload
from weftwork.cli.console.documents import as_object
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import path_for

T = TypeVar("T")

MAX_TRIES: Final = 4
MAX_WAIT: Final = 10.0
"""Seconds. A request is not retried if the host's Retry-After is longer than this."""
LOOKUP_SECONDS: Final = 3.0
"""Timeout in seconds of an optional lookup (`Client.try_get`)."""


class Client:
    """Sends requests to one host. Paths come from `path_for`, which quotes ids.

    Responses are decoded strictly and have a maximum size. Raises RequestRefused for an error response and
    HostUnreachable if there is no usable response; both messages say what to do next.
    """

    def __init__(self, url: str, key: str | None, timeout: float = 30) -> None:
        self._transport = Transport(url, key, timeout)
        self.notify: Callable[[str], None] = partial(click.echo, err=True)
        """Called with a line about an event during a request, such as a lost connection."""
        self.deadline: float | None = None
        """When streams and waits end with DeadlineReached, on the monotonic clock."""

    def copy(self) -> "Client":
        """A client of the same host with a deadline of its own, for another thread."""
        return copy(self)

    @property
    def url(self) -> str:
        """The base URL of the host, without a trailing slash."""
        return self._transport.url

    @property
    def has_key(self) -> bool:
        return self._transport.has_key

    def get(self, path: str, **query: Any) -> Any:
        """The document at the path. Query members that are None are omitted; lists become repeated members."""
        return self._request("GET", path, query, repeatable=True)

    def download(self, path: str, on_progress: Callable[[int], None], **query: Any) -> bytes:
        """The undecoded body; `on_progress` is called with the number of bytes received so far."""
        return self._with_retries(lambda: self._transport.download(path, query, on_progress), MAX_TRIES)

    def try_get(self, path: str, seconds: float = LOOKUP_SECONDS) -> Any:
        """The document at the path, or None on any error. One attempt, for optional information."""
        remaining = self.time_left()
        try:
            return self._transport.request(
                "GET", path, max_seconds=seconds if remaining is None else min(seconds, remaining)
            )
        except (RequestRefused, HostUnreachable):
            return None

    def try_read(self, path: str, count: int, seconds: float = LOOKUP_SECONDS) -> bytes | None:
        """The first bytes of the body at the path, or None on any error. One attempt, for optional information."""
        headers = {"Accept": "*/*", "Range": f"bytes=0-{count - 1}"}
        try:
            with closing(self._transport.open("GET", path, headers=headers, max_seconds=seconds)) as opened:
                return opened.response.read(count)
        except (RequestRefused, HostUnreachable, OSError, http.client.HTTPException):
            return None

    def post(self, path: str, body: Any = None, *, idempotency_key: str | None = None, **query: Any) -> Any:
        """The document of the response, None if it is empty. Retried only with an idempotency key."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._request("POST", path, query, body, repeatable=bool(headers), **headers)

    def upload(self, path: str, body: "Upload", *, idempotency_key: str | None = None, **query: Any) -> Any:
        """The document of the response. Retried, because uploading the same bytes twice is idempotent, with a key or
        by itself."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._request("POST", path, query, body, repeatable=True, **headers)

    def delete(self, path: str) -> Any:
        """The document of the response; None from most hosts."""
        return self._request("DELETE", path, {})

    def stream(self, run_id: str, *, last_event_id: str | None = None, **query: Any) -> "Iterator[ReceivedFrame]":
        """The frames of a run's event stream until the run has ended. Reconnects when a connection breaks."""
        return iter(EventStream(self, self._transport, run_id, last_event_id, query))

    def require_text(self, answer: Any, member: str, what: str) -> str:
        """The string member of a response. Raises HostUnreachable, with `what` as the missing thing, without one."""
        if not is_object(answer) or not isinstance(answer.get(member), str):
            raise HostUnreachable(
                f"{self.url} sent a response without {what} (`{member}`); check that --url is an OpenWOP v1 host."
            )
        return answer[member]

    def supports(self, *capability: str) -> bool:
        """Whether the capability at this path of the host's capabilities has `supported: true`."""
        value: Any = self.get(path_for("getCapabilities"))
        for name in (*capability, "supported"):
            value = as_object(value).get(name)
        return value is True

    def time_left(self) -> float | None:
        """Seconds to the deadline, at least 0; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def sleep(self, seconds: float) -> None:
        """Sleep, at most until the deadline. Raises DeadlineReached at the deadline."""
        remaining = self.time_left()
        time.sleep(seconds if remaining is None else min(seconds, remaining))
        if self.time_left() == 0:
            raise DeadlineReached

    def _request(
        self, method: str, path: str, query: dict[str, Any], body: Any = None, repeatable: bool = False, **headers: str
    ) -> Any:
        send = partial(self._transport.request, method, path, query=query, body=body, headers=headers)
        return self._with_retries(send, MAX_TRIES if repeatable else 1)

    def _with_retries(self, send: Callable[[], T], tries: int) -> T:
        while True:
            tries -= 1
            try:
                return send()
            except ConnectionLost as error:
                if not tries or isinstance(error, ReadTimeout):
                    raise
            except RequestRefused as refused:
                is_busy = refused.status in (429, 503) or refused.code == "idempotency_in_flight"
                wait = refused.retry_after
                if not tries or not is_busy or wait is None or wait > MAX_WAIT:
                    raise
                self.notify(f"the host is busy; retrying in {wait:g} s")
                self.sleep(wait)
