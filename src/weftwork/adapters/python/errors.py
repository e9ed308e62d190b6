"""The exceptions that nodes raise, and those that the host raises in nodes."""

import re
from typing import Any, Final

from weftwork.adapters.python.values import storable_text, to_loggable
from weftwork.ports.node_outcome import Failed
from weftwork.protocol.json.values import is_object, is_too_large

MAX_CODE: Final = 64
MAX_MESSAGE: Final = 1_000

_CODE: Final = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)*")


class NodeError(Exception):
    """Fails the node with a code and a message, which clients of the run see unchanged.

    `retryable`: whether another attempt could succeed. If false, the node is not retried, even if the workflow allows
    retries. A code has up to 64 lowercase letters and digits, with `_`, `.` or `-` between them.
    """

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None, retryable: bool = False) -> None:
        if not isinstance(code, str) or len(code) > MAX_CODE or _CODE.fullmatch(code) is None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidErrorCode(code)
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.retryable = retryable


class InvalidErrorCode(NodeError, ValueError):
    """The code of an error has an invalid format. This is a mistake in the code of the node, so it is not retryable."""

    def __init__(self, code: Any) -> None:
        shown = (
            repr(storable_text(code, MAX_CODE)) if isinstance(code, str) else f"an object of type {type(code).__name__}"
        )
        super().__init__(
            "node_misused",
            f"{shown} is not a valid error code: use up to {MAX_CODE} lowercase letters and digits, "
            "with _ . or - between them",
        )


class StepError(NodeError):
    """A step failed, in this attempt or an earlier one. Another attempt of the node gets the same failure."""


class FetchError(NodeError):
    """A request got no response. `sent`: whether the server may have received the request."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__("fetch_failed", message, retryable=True)
        self.sent = sent


class InterruptTimeout(NodeError):
    """The interrupt `key` was not answered within its timeout. Another attempt of the node gets the same error."""

    def __init__(self, key: str) -> None:
        super().__init__("interrupt_timeout", f"The interrupt {key} was not answered within its timeout.")
        self.key = key


class CallAbandoned(BaseException):
    """The node was cancelled, timed out or has ended, so its context can no longer be used.

    Not an Exception, so that a function that catches Exception ends too.
    """

    def __init__(self) -> None:
        super().__init__("this call of the node is over: it was cancelled, timed out or has ended")


class NodeExited(Exception):
    """A node raised a BaseException such as SystemExit. The node fails, and the process does not end."""


def loop_safe_error(error: BaseException) -> BaseException:
    """The exception, with SystemExit and KeyboardInterrupt replaced, because they would end the event loop."""
    if not isinstance(error, SystemExit | KeyboardInterrupt):
        return error
    return exit_error(error)


def exit_error(error: BaseException) -> NodeExited:
    """The exception that replaces a BaseException of a node."""
    exited = NodeExited(f"raised {type(error).__name__}")
    exited.__cause__ = error
    return exited


def to_failure(error: NodeError) -> Failed:
    """The failure for the log: a message that can be stored, and the details if they are JSON of a valid size."""
    details = to_loggable(error.details)
    usable = is_object(details) and not is_too_large(details)
    return Failed(error.code, storable_text(error.message, MAX_MESSAGE), details if usable else None, error.retryable)


def node_error(failure: Failed) -> NodeError:
    """The exception for a failure of the host, which the function can catch."""
    return NodeError(failure.code, failure.message, failure.details, failure.retryable)


def misuse_error(message: str) -> NodeError:
    """The error for a mistake in the code of the node, which is not retryable."""
    return NodeError("node_misused", message)


def threads_exhausted_error() -> NodeError:
    """The error for a plain function that cannot start because too many threads are abandoned."""
    message = (
        "Nodes that were cancelled or timed out still use too many threads of this host. Raise max_abandoned_threads, "
        "or make long plain functions call ctx.heartbeat."
    )
    return NodeError("node_threads_exhausted", message, retryable=True)


def missing_capability_error(what: str) -> NodeError:
    """The error for a call that this host does not support."""
    return NodeError("host_capability_missing", f"This host does not support {what}.")
