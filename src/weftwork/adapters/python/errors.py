"""What a node raises to say how it failed, and what is raised in one that has been left behind."""

import re
from typing import Any, Final

from weftwork.adapters.python.values import storable_text, to_loggable
from weftwork.ports.node_outcome import Failed
from weftwork.protocol.json.values import is_object, is_too_large

MAX_CODE: Final = 64
MAX_MESSAGE: Final = 1_000

_CODE: Final = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)*")


class NodeError(Exception):
    """The node fails, with a code and a message for whoever looks at the run.

    Both go on the wire as they are. `retryable`: whether another attempt could help; without it the retries that
    the workflow allows are not used up. A code has up to 64 small letters and digits, with _ . or - in between.
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
    """The code of an error is none. A mistake in the code of the node, which no attempt mends."""

    def __init__(self, code: Any) -> None:
        given = (
            repr(storable_text(code, MAX_CODE)) if isinstance(code, str) else f"an object of type {type(code).__name__}"
        )
        super().__init__(
            "node_misused",
            f"{given} is no code: it takes up to {MAX_CODE} small letters and digits, with _ . or - in between",
        )


class StepError(NodeError):
    """A step failed: just now, or in an earlier attempt. Another attempt of the node gets the same failure."""


class FetchError(NodeError):
    """No answer came. `sent`: whether the other side may have got the request."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__("fetch_failed", message, retryable=True)
        self.sent = sent


class InterruptTimeout(NodeError):
    """Nobody answered the question `key` in time. Another attempt of the node gets the same."""

    def __init__(self, key: str) -> None:
        super().__init__("interrupt_timeout", f"Nobody answered the question {key} in time.")
        self.key = key


class CallAbandoned(BaseException):
    """The node was cancelled, ran out of time or has ended, and this call of its context comes too late.

    Not an Exception, so that a function which catches those ends too.
    """

    def __init__(self) -> None:
        super().__init__("the run went on without this call of the node")


class NodeExited(Exception):
    """A node raised what no Exception is, such as SystemExit, or tried to end the process; it only fails."""


def loop_safe_error(error: BaseException) -> BaseException:
    """What a thread or a task raised, in a form that the event loop survives."""
    if not isinstance(error, SystemExit | KeyboardInterrupt):
        return error
    return exit_error(error)


def exit_error(error: BaseException) -> NodeExited:
    """What is raised in place of what no Exception is."""
    made = NodeExited(f"raised {type(error).__name__}")
    made.__cause__ = error
    return made


def to_failure(error: NodeError) -> Failed:
    """The failure as the run takes it: text that can be stored, and details that are JSON."""
    details = to_loggable(error.details)
    usable = is_object(details) and not is_too_large(details)
    return Failed(error.code, storable_text(error.message, MAX_MESSAGE), details if usable else None, error.retryable)


def node_error(failure: Failed) -> NodeError:
    """What an author gets to see of a failure, and may catch."""
    return NodeError(failure.code, failure.message, failure.details, failure.retryable)


def misuse_error(message: str) -> NodeError:
    """A mistake in the code of the node. No attempt gets further."""
    return NodeError("node_misused", message)


def threads_exhausted_error() -> NodeError:
    """Why a plain function is not started at all."""
    message = "Too many threads of this host are held by nodes that were left behind."
    return NodeError("node_threads_exhausted", message, retryable=True)


def missing_capability_error(what: str) -> NodeError:
    """Something that authors may ask for and this host does not have."""
    return NodeError("host_capability_missing", f"This host does not offer {what}.")
