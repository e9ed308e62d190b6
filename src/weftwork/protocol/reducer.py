"""The reducers: their names, and the shape of what each one takes. Source: OpenWOP channels-and-reducers."""

import math
from collections.abc import Callable
from typing import Any, Final

from weftwork.protocol.decode import MAX_INTEGER
from weftwork.protocol.json_value import is_object

REDUCERS: Final = ("replace", "append", "merge", "counter", "votes", "feedback", "message")
"""chan-01 (OpenWOP channels-and-reducers): the reducers of the protocol; vendor reducers are not run here."""
LISTS: Final = frozenset({"append", "votes", "feedback", "message"})
"""Reducers whose channel is a list of what was written."""
TIMED: Final = frozenset({"append", "votes", "feedback"})
"""Reducers whose entries may expire."""
ROLES: Final = ("system", "user", "assistant", "tool", "agent")
MAX_NAME: Final = 256
"""Of the name of a channel, and of the id of a message."""


def misshapen(reducer: str, value: Any) -> str | None:
    """chan-04 (OpenWOP channels-and-reducers): why a reducer cannot take a value; None if it can."""
    match reducer:
        case "merge" if not is_object(value):
            return "must be an object"
        case "counter" if not _is_step(value):
            return f"must be a number between -{MAX_INTEGER} and {MAX_INTEGER}"
        case "votes" if voter(value) is None:
            return "must be an object with a userId"
        case "message":
            return _misshapen_message(value)
        case _:
            return None


def _is_step(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= MAX_INTEGER


def voter(value: Any) -> str | None:
    """Whose vote this is: `userId`, or `voter` where there is no `userId`."""
    user: Any = value.get("userId", value.get("voter")) if is_object(value) else None
    return user if isinstance(user, str) and user else None


def message_id(value: Any) -> str | None:
    """The id by which a message is known."""
    given: Any = value.get("messageId") if is_object(value) else None
    return given if isinstance(given, str) and 0 < len(given) <= MAX_NAME else None


KEYS: Final[dict[str, Callable[[Any], str | None]]] = {"votes": voter, "message": message_id}
"""Reducers whose list holds one entry per user, or per id."""


def _misshapen_message(value: Any) -> str | None:
    if message_id(value) is None:
        return f"must be an object with a messageId of 1 to {MAX_NAME} characters"
    if value.get("role") not in ROLES:
        return f"must have a role, one of: {', '.join(ROLES)}"
    return None if "content" in value else "must have content"
