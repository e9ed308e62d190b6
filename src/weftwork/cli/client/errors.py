"""What goes wrong between a command and a host, in words that say what to do next.

Exit codes of every command that talks to a host: 6 when it cannot be reached, 7 when it refuses. Texts of the host
are made printable before they are shown.
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
_KEY_HINT: Final = "give another with --key or WEFTWORK_KEY"
_MAX_PROBLEMS: Final = 10
_MAX_SUPPORTED: Final = 50


class HostUnreachable(click.ClickException):
    """No host answers there, or what answers does not speak HTTP or JSON."""

    exit_code = EXIT_UNREACHABLE


class RequestRefused(click.ClickException):
    """The host answered with an error. `code` is empty when the answer was none of the protocol's documents."""

    exit_code = EXIT_REFUSED

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: dict[str, Any] | None = None,
        *,
        keyed: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details: dict[str, Any] = details or {}
        self.retry_after = retry_after
        self.advice = ""
        """What to do next, where a command knows better than the status; can be printed."""
        self._has_key = keyed

    def format_message(self) -> str:
        """What happened, what is wrong with what was sent, and what to do next."""
        said = clean(self.message, MAX_TEXT).rstrip(" .") or "the host refuses"
        name = f" ({clean(self.code, 60)})" if self.code else ""
        then = self._next_step()
        if self.status == 401:
            return f"{then}{name}."
        return f"{said}{name}{f'; {then}' if then else ''}." + "".join(
            f"\n  {line}" for line in (*self._problem_lines(), *self._supported_lines())
        )

    def _next_step(self) -> str:
        if self.advice:
            return self.advice
        if self.status == 401:
            return self._key_advice()
        if self.status == 403:
            return "this key may not do that; see its scopes with `weftwork keys ls`, or " + _KEY_HINT
        if self.status in (404, 405) and not self.code:
            return "this does not look like an OpenWOP v1 host, or it has no such route; see --url"
        if self.status == 404:
            return "see that the id is right, and that --url and --key are those of its host and tenant"
        if self.status in (429, 503):
            when = f" in {self.retry_after:g} s" if self.retry_after is not None else " later"
            return f"try again{when}"
        if self.status == 501:
            return "this host does not offer it"
        if 300 <= self.status < 400:
            return "name that address with --url"
        if self.status >= 500 and isinstance(self.details.get("correlationId"), str):
            return f"the host's log has more under {clean(self.details['correlationId'], 80)}"
        return ""

    def _key_advice(self) -> str:
        if not self._has_key:
            return (
                "this host wants a key: give one with --key or WEFTWORK_KEY; "
                "on the machine of a weftwork host, `weftwork keys create` makes one"
            )
        if self.code == "key_expired":
            return f"this key has expired; {_KEY_HINT}"
        if self.code == "key_revoked":
            return f"this key was revoked; {_KEY_HINT}"
        return f"the host does not know this key; {_KEY_HINT}"

    def _problem_lines(self) -> list[str]:
        """Where in the request the mistake is, as far as the host says so."""

        found = next((self.details[name] for name in ("violations", "errors") if name in self.details), None)
        rows: list[Any] = found if is_array(found) else [self.details]
        lines: list[str] = []
        for row in rows[:_MAX_PROBLEMS]:
            where = row.get("pointer") if is_object(row) else None
            if isinstance(where, str) and (where or row is not self.details):
                said = f": {clean(row['message'])}" if isinstance(row.get("message"), str) else ""
                lines.append(f"at {clean(where or '/', 200)}{said}")
        more = len(rows) - _MAX_PROBLEMS
        return [*lines, f"and {more} more"] if more > 0 else lines

    def _supported_lines(self) -> list[str]:
        """What the host would have taken instead, as far as it says so."""

        found = as_list(self.details.get("supported"))
        words = [clean(each, 100) for each in found[:_MAX_SUPPORTED]]
        if all(word in self.message for word in words):
            return []
        return [f"it takes {', '.join(words)}{' and others' if len(found) > _MAX_SUPPORTED else ''}"]


class ConnectionLost(HostUnreachable):
    """The host was there and the connection to it broke, or it was silent for too long: worth another try."""


class ReadTimeout(ConnectionLost):
    """The host was there and said nothing for as long as it may."""


class DeadlineReached(Exception):
    """The time that the user gave is over."""


NOT_OFFERED: Final = (404, 405, 501)


@contextmanager
def not_offered(text: str) -> Generator[None]:
    """Says the text in place of the refusal of a host that has no such route."""
    try:
        yield
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            raise click.ClickException(text) from None
        raise
