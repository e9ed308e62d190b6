"""What a node says to those who follow its run: lines of a log, and events of its own."""

from typing import Any

from weftwork.adapters.python.entry import Entry
from weftwork.adapters.python.errors import NodeError
from weftwork.adapters.python.values import NotJson, TooLarge, as_json, loggable, shown
from weftwork.ports.nodes import AppendLog, EmitEvent
from weftwork.protocol.events import is_authors_type
from weftwork.protocol.json_value import is_object
from weftwork.protocol.weight import MAX_TEXT


class NodeLog:
    """Lines in the log of the run, as `log.appended` events. Fields that are not JSON are written as text."""

    __slots__ = ("_entry",)

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    def debug(self, message: str, **fields: Any) -> None:
        self._entry.say(AppendLog("debug", shown(message, MAX_TEXT), loggable(fields)))

    def info(self, message: str, **fields: Any) -> None:
        self._entry.say(AppendLog("info", shown(message, MAX_TEXT), loggable(fields)))

    def warning(self, message: str, **fields: Any) -> None:
        self._entry.say(AppendLog("warn", shown(message, MAX_TEXT), loggable(fields)))

    def error(self, message: str, **fields: Any) -> None:
        self._entry.say(AppendLog("error", shown(message, MAX_TEXT), loggable(fields)))


def event_of(event_type: str, payload: Any) -> EmitEvent:
    """An event of the author's own type. Raises ValueError for types of others and for what is no JSON object."""
    if not is_authors_type(event_type):
        raise ValueError(
            f"{event_type!r} is no event type of your own: it needs a prefix such as acme. that nobody else has"
        )
    try:
        made = as_json(payload)
    except TooLarge as error:
        raise NodeError("node_output_too_large", f"The payload of {event_type} {error.why}.") from None
    except NotJson as error:
        raise ValueError(f"the payload of {event_type} is not JSON: {error}") from None
    if not is_object(made):
        raise ValueError(f"the payload of {event_type} is not an object")
    return EmitEvent(event_type, made)
