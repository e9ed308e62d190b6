"""Errors between a command and a host. Each message says what to do next.

Every command that talks to a host exits with 6 if the host cannot be reached and with 7 if it refuses the request.
Texts from the host are made printable before they are shown.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import click

from weftwork.cli.console.documents import as_list
from weftwork.cli.console.text import clean
from weftwork.protocol.json.values import is_array, is_object

EXIT_UNREACHABLE: Final = 6
EXIT_REFUSED: Final = 7
MAX_TEXT: Final = 500
_KEY_HINT: Final = "pass another key with --key or WEFTWORK_KEY"
_MAX_PROBLEMS: Final = 10
_MAX_SUPPORTED: Final = 50


class HostUnreachable(click.ClickException):
    """No server responds at the URL, or its response is not HTTP or not the expected JSON."""

    exit_code = EXIT_UNREACHABLE


class RequestRefused(click.ClickException):
    """The host responded with an error. `code` is empty if the response is not an error document of the protocol."""

    exit_code = EXIT_REFUSED

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: dict[str, Any] | None = None,
        *,
        has_key: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details: dict[str, Any] = details or {}
        self.retry_after = retry_after
        self.advice = ""
        """The next step, printable, set by a command that knows better than the status. Empty: by the status."""
        self._has_key = has_key

    def format_message(self) -> str:
        """The host's message, the next step, and the places in the request that are wrong."""
        text = clean(self.message, MAX_TEXT).rstrip(" .") or "the host refused the request"
        code = f" ({clean(self.code, 60)})" if self.code else ""
        next_step = self._next_step()
        if self.status == 401:
            return f"{next_step}{code}."
        return f"{text}{code}{f'; {next_step}' if next_step else ''}." + "".join(
            f"\n  {line}" for line in (*self._problem_lines(), *self._supported_lines())
        )

    def _next_step(self) -> str:
        if self.advice:
            return self.advice
        if self.status == 401:
            return self._key_advice()
        if self.status == 403 and "`weftwork keys create" in self.message:
            return f"then {_KEY_HINT}"
        if self.status == 403:
            return f"this key is not permitted to do this; check its scopes with `weftwork keys ls`, or {_KEY_HINT}"
        if self.status in (404, 405) and not self.code:
            return "check that --url is the base URL of an OpenWOP v1 host"
        if self.status == 404:
            return "check the id, and that --url and --key belong to the host and tenant that have it"
        if self.status in (429, 503):
            delay = f" in {self.retry_after:g} s" if self.retry_after is not None else " later"
            return f"try again{delay}"
        if self.status == 501:
            return "this host does not support the operation"
        if 300 <= self.status < 400:
            return "pass that address with --url"
        if self.status >= 500 and isinstance(self.details.get("correlationId"), str):
            return f"search the host's log for {clean(self.details['correlationId'], 80)}"
        return ""

    def _key_advice(self) -> str:
        if not self._has_key:
            return (
                "the host requires an API key; set WEFTWORK_KEY or pass --key. To create a key, run "
                "`weftwork keys create` on the machine of a weftwork host"
            )
        if self.code == "key_expired":
            return f"the API key has expired; {_KEY_HINT}"
        if self.code == "key_revoked":
            return f"the API key was revoked; {_KEY_HINT}"
        return (
            f"the host does not accept this API key; {_KEY_HINT}, or create one with `weftwork keys create` on the "
            "machine of a weftwork host"
        )

    def _problem_lines(self) -> list[str]:
        """The places in the request that the host reports as wrong."""
        listed = next((self.details[name] for name in ("violations", "errors") if name in self.details), None)
        rows: list[Any] = listed if is_array(listed) else [self.details]
        lines: list[str] = []
        for row in rows[:_MAX_PROBLEMS]:
            pointer = row.get("pointer") if is_object(row) else None
            if isinstance(pointer, str) and (pointer or row is not self.details):
                message = f": {clean(row['message'])}" if isinstance(row.get("message"), str) else ""
                lines.append(f"at {clean(pointer or '/', 200)}{message}")
        omitted = len(rows) - _MAX_PROBLEMS
        return [*lines, f"and {omitted} more"] if omitted > 0 else lines

    def _supported_lines(self) -> list[str]:
        """The values that the host would accept instead, if it lists them and the message does not name them."""
        supported = as_list(self.details.get("supported"))
        names = [clean(each, 100) for each in supported[:_MAX_SUPPORTED]]
        if all(name in self.message for name in names):
            return []
        return [f"supported: {', '.join(names)}{' and others' if len(supported) > _MAX_SUPPORTED else ''}"]


class ConnectionLost(HostUnreachable):
    """The connection broke or timed out after it was established. The request may be retried."""


class ReadTimeout(ConnectionLost):
    """The host sent nothing within the timeout."""


class DeadlineReached(Exception):
    """The deadline that the user set with --timeout has passed."""


NOT_OFFERED: Final = (404, 405, 501)


@contextmanager
def not_offered(text: str) -> Generator[None]:
    """Replaces the refusal of a host that does not have the route with a ClickException of this text."""
    try:
        yield
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            raise click.ClickException(text) from None
        raise
