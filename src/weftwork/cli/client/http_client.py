"""The client of every command that talks to a host: any OpenWOP v1 host, by its address and a key.

Connections are direct: no proxies, no redirects, so that the key goes nowhere else. Nothing here is printed but notes
through `notify`, and no text holds the key.
"""

import time
from collections.abc import Callable, Iterator
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
"""Seconds. A host that asks for more patience than this is told about instead of waited for."""
LOOKUP_SECONDS: Final = 3.0
"""Seconds that a question may take whose answer is nice to know."""


class Client:
    """Asks one host. Paths come from `path_for`, which quotes what it fills in.

    Answers are decoded strictly and up to a size. Raises RequestRefused for an error and HostUnreachable if
    there is no answer; both say what to do next.
    """

    def __init__(self, url: str, key: str | None, timeout: float = 30) -> None:
        self._transport = Transport(url, key, timeout)
        self.notify: Callable[[str], None] = partial(click.echo, err=True)
        """Where to say what happens meanwhile, such as a broken connection."""
        self.deadline: float | None = None
        """On the monotonic clock: when streams end with DeadlineReached, and nothing is waited for any more."""

    @property
    def url(self) -> str:
        """The address of the host, without a slash at its end."""
        return self._transport.url

    @property
    def has_key(self) -> bool:
        return self._transport.has_key

    def get(self, path: str, **query: Any) -> Any:
        """The document there. Members of the query that are None are left out, lists are repeated."""
        return self._request("GET", path, query, repeatable=True)

    def download(self, path: str, heard: Callable[[int], None], **query: Any) -> bytes:
        """What is there, as the host sent it; `heard` is told how many bytes have come."""
        return self._with_retries(lambda: self._transport.download(path, query, heard), MAX_TRIES)

    def try_get(self, path: str, seconds: float = LOOKUP_SECONDS) -> Any:
        """The document there if the host gives it without further ado, else None. For what is nice to know."""
        left = self.time_left()
        try:
            return self._transport.request("GET", path, most=seconds if left is None else min(seconds, left))
        except (RequestRefused, HostUnreachable):
            return None

    def post(self, path: str, body: Any = None, *, idempotency_key: str | None = None, **query: Any) -> Any:
        """The document of the answer, None if it is empty. With a key it may be sent again, and then is if need be."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._request("POST", path, query, body, repeatable=bool(headers), **headers)

    def upload(self, path: str, body: "Upload", **query: Any) -> Any:
        """The document of the answer. Sending the same bytes again does no harm, so it is done if need be."""
        return self._request("POST", path, query, body, repeatable=True)

    def delete(self, path: str) -> Any:
        """The document of the answer; most hosts give none."""
        return self._request("DELETE", path, {})

    def stream(self, run_id: str, *, last_event_id: str | None = None, **query: Any) -> "Iterator[ReceivedFrame]":
        """The frames of a run's event stream, over broken connections, until the run has ended and the host closes."""
        return iter(EventStream(self, self._transport, run_id, last_event_id, query))

    def require_text(self, answer: Any, member: str, what: str) -> str:
        """A text of an answer. Raises HostUnreachable, which says `what` is missing, if it is not there."""
        if not is_object(answer) or not isinstance(answer.get(member), str):
            raise HostUnreachable(f"{self.url} does not say {what}; see that --url names an OpenWOP v1 host.")
        return answer[member]

    def supports(self, *capability: str) -> bool:
        """Whether the host says that it supports what stands at this place of its capabilities."""
        found: Any = self.get(path_for("getCapabilities"))
        for name in (*capability, "supported"):
            found = as_object(found).get(name)
        return found is True

    def time_left(self) -> float | None:
        """Seconds to the deadline, at least 0; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def sleep(self, seconds: float) -> None:
        """At most until the deadline."""
        left = self.time_left()
        time.sleep(seconds if left is None else min(seconds, left))
        if self.time_left() == 0:
            raise DeadlineReached

    def _request(
        self, method: str, path: str, query: dict[str, Any], body: Any = None, repeatable: bool = False, **headers: str
    ) -> Any:
        ask = partial(self._transport.request, method, path, query=query, body=body, headers=headers)
        return self._with_retries(ask, MAX_TRIES if repeatable else 1)

    def _with_retries(self, ask: Callable[[], T], tries: int) -> T:
        while True:
            tries -= 1
            try:
                return ask()
            except ConnectionLost as broken:
                if not tries or isinstance(broken, ReadTimeout):
                    raise
            except RequestRefused as refused:
                is_busy = refused.status in (429, 503) or refused.code == "idempotency_in_flight"
                wait = refused.retry_after
                if not tries or not is_busy or wait is None or wait > MAX_WAIT:
                    raise
                self.notify(f"the host asks to wait {wait:g} s")
                self.sleep(wait)
