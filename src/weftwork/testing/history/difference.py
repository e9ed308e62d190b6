"""Describes the first difference between a recorded history and a replay of it, in plain words."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from weftwork.engine.replay.lockstep import Difference
from weftwork.engine.run.replay import fact_of_event
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.replay.comparison import comparable_payload
from weftwork.protocol.run.events import Draft, Event, Fact
from weftwork.testing.call_recorder import NO_RECORD, PerformedCalls
from weftwork.testing.errors import Diverged

MAX_SHOWN: Final = 400
"""Characters of a value in a message."""
MAX_PLACES: Final = 5
NOTHING: Final = "nothing: the recorded log ends before this event"
NOT_DONE: Final = "nothing: the run does not get there"
ADVICE: Final = (
    "Runs that were started before this change would behave differently when they continue. Keep the recorded "
    "behaviour for them with ctx.get_version, or record the history again if no such run is left."
)


def describe(name: str, events: Sequence[Event], replayed: int, found: Difference, calls: PerformedCalls) -> Diverged:
    """The error for a difference. `name` is the file, and `replayed` the number of its events before the decision or
    the entry in which the difference was found."""
    original, node_id = found.original, found.node_id
    sequence = len(events) if original is None else original.sequence
    now = _first_new(found.drafts, events[replayed:sequence])
    recorded = None if original is None else fact_of_event(original)
    was = NOTHING if recorded is None else describe_event(recorded)
    does = NOT_DONE if now is None else describe_event(now)
    if reason := _reason(now, calls):
        does = f"{does}: {reason}"
    where = f"event {sequence}" if node_id is None else f"event {sequence}, node {node_id}"
    lines = [f"{name}: the code does not do what was recorded.", f"First difference: {where}"]
    lines += [f"  recorded: {was}", f"  now:      {does}"]
    if recorded is not None and now is not None and (recorded.type, recorded.node_id) == (now.type, now.node_id):
        lines += [f"  differs:  {each}" for each in differing_places(recorded.payload, now.payload)]
    return Diverged("\n".join([*lines, ADVICE]), sequence, node_id, was, does)


def _first_new(drafts: Sequence[Draft], same: Sequence[Event]) -> Draft | None:
    """The first of the drafts that is not one of the recorded events before the difference."""
    rest = [*drafts]
    for event in same:
        payload = comparable_payload(event.type, fact_of_event(event).payload)
        if rest and rest[0].type == event.type and comparable_payload(rest[0].type, rest[0].payload) == payload:
            del rest[0]
    return rest[0] if rest else None


def _reason(now: Draft | None, calls: PerformedCalls) -> str:
    """What the node needs without a record, or the exception that it raises."""
    if now is None or now.node_id is None or now.type not in ("node.failed", "node.retried"):
        return ""
    if _error_of(now.payload).get("code") == NO_RECORD:
        return f"it needs {calls.unrecorded.get(now.node_id, 'something')}, which the recorded run does not have"
    raised = [each.raised for each in calls.performed if each.node_id == now.node_id and each.raised is not None]
    return f"{type(raised[-1]).__name__}: {raised[-1]}" if raised else ""


def _error_of(payload: dict[str, Any]) -> dict[str, Any]:
    return payload.get("error", payload.get("lastError")) or {}


def describe_event(event: Draft | Fact) -> str:
    """An event in words, such as `node price completed with {"gross": 119.0}`."""
    payload = event.payload
    node = f"node {event.node_id}" if event.node_id is not None else "the run"
    match event.type:
        case "node.started":
            attempt = payload.get("attempt", 1)
            return f"{node} starts" if attempt == 1 else f"{node} starts, attempt {attempt}"
        case "node.completed":
            return f"{node} completes with {shown(payload.get('outputs'))}"
        case "node.failed" | "node.retried" | "run.failed":
            verb = "fails and will be retried" if event.type == "node.retried" else "fails"
            return f"{node} {verb} with {_error_of(payload).get('code')}"
        case "node.suspended":
            return f"{node} waits for an answer to {payload.get('key')}"
        case "node.skipped":
            return f"{node} is skipped"
        case "run.completed":
            return f"the run completes with {shown(payload.get('outputs'))}"
        case "run.started" | "run.cancelled":
            return "the run starts" if event.type == "run.started" else "the run is cancelled"
        case "variable.changed":
            return f"{node} sets the variable {payload.get('name')} to {shown(payload.get('next'))}"
        case "interrupt.requested":
            return f"{node} asks {payload.get('key')} with {shown(payload.get('data'))}"
        case _:
            return f"{node} emits {event.type} with {shown(payload)}"


def shown(value: Any) -> str:
    """The value as JSON, cut to MAX_SHOWN characters."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def differing_places(recorded: Any, now: Any) -> list[str]:
    """The first MAX_PLACES places in which two payloads differ, with both values."""
    places = _places("", recorded, now, MAX_PLACES + 1)
    more = ["and more"] if len(places) > MAX_PLACES else []
    return places[:MAX_PLACES] + more


def _places(at: str, recorded: Any, now: Any, most: int) -> list[str]:
    if is_object(recorded) and is_object(now):
        names = [*recorded, *(name for name in now if name not in recorded)]
        pairs = [(f"{at}/{name}", recorded.get(name, _ABSENT), now.get(name, _ABSENT)) for name in names]
    elif is_array(recorded) and is_array(now) and len(recorded) == len(now):
        pairs = [(f"{at}/{index}", *both) for index, both in enumerate(zip(recorded, now, strict=True))]
    elif recorded == now:
        return []
    else:
        return [f"{at or '/'}: {_shown_or_absent(recorded)}, now {_shown_or_absent(now)}"]
    found: list[str] = []
    for place, before, after in pairs:
        if len(found) < most and before != after:
            found += _places(place, before, after, most - len(found))
    return found


_ABSENT: Final = object()


def _shown_or_absent(value: Any) -> str:
    return "absent" if value is _ABSENT else shown(value)
