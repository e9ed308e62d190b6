"""ctx.interrupt, approve, clarify and wait_for_event: builds the interrupt, and converts its resolution."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, cast

import msgspec

from weftwork.adapters.python.errors import InterruptTimeout, NodeError, misuse_error
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object
from weftwork.protocol.people.interrupt_validation import MAX_TIMEOUT_MS, check_interrupt
from weftwork.protocol.run.events import HOST_PREFIX
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, NON_BLOCKING_KINDS, Interrupt, Resolution
from weftwork.protocol.surfaces.actions import ACTION, BoundSurface, check_binding, target_of
from weftwork.protocol.surfaces.surface import Surface, parse_surface
from weftwork.surface import SurfaceError, from_json, to_json

Seconds = float | timedelta
SurfaceSource = Surface | Mapping[str, Any]
"""A surface of weftwork.surface, or its JSON."""

NO_DEFAULT: Final[Any] = msgspec.UNSET
"""Marks an absent default, because None is a valid default."""
MAX_CUSTOM_KIND: Final = 128

_KEY: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class InterruptRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of the author, not yet validated."""

    key: Any
    kind: Any = "custom"
    data: Any = None
    custom_kind: Any = None
    resume_schema: Any = None
    timeout: Any = None
    default: Any = NO_DEFAULT
    remind_after: Any = ()
    answer_member: str | None = None
    """The member of the answer that the author gets, or None for the whole answer."""
    surface: Any = None
    """The form of the interrupt."""
    returns_surface_answer: bool = False
    """Whether the author gets a SurfaceAnswer."""


def wire_key(call: NodeCall, key: str) -> str:
    """The key on the wire, `nodeId:visit:key`, which is different in each round of a loop."""
    return f"{call.node_id}:{call.visit}:{key}"


def build_interrupt(call: NodeCall, request: InterruptRequest) -> Interrupt:
    """Raises NodeError with the code node_misused if an argument is invalid."""
    key, kind = request.key, request.kind
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        raise misuse_error("The key of an interrupt must have 1 to 64 letters, digits, dots, dashes and underscores.")
    if not isinstance(kind, str) or kind not in INTERRUPT_KINDS:
        raise misuse_error(f"The kind of the interrupt {key} must be one of {', '.join(INTERRUPT_KINDS)}.")
    if kind in NON_BLOCKING_KINDS and not _has_only_data(request):
        raise misuse_error(f"An interrupt of the kind {kind} has no answer; pass only its key and data.")
    if kind == "approval" and request.default is not NO_DEFAULT:
        raise misuse_error(f"The approval {key} cannot have a default, because a timeout is a rejection.")
    interrupt = Interrupt(
        kind,
        wire_key(call, key),
        _data(request),
        _json(key, "schema", request.resume_schema),
        None if request.timeout is None else _milliseconds(key, "timeout", request.timeout),
        _reminders(key, request.remind_after),
        form=None if request.surface is None else _form(request),
    )
    if violations := check_interrupt(interrupt) or _check_form(interrupt):
        first = violations[0]
        raise misuse_error(
            f"The interrupt {key} of the kind {kind} is invalid: {first.pointer or '/'} {first.message}."
        )
    return interrupt


def _form(request: InterruptRequest) -> dict[str, Any]:
    key, kind = request.key, request.kind
    if target_of(kind) is None:
        raise misuse_error(f"The interrupt {key} has the kind {kind}, which cannot have a surface as its form.")
    if request.resume_schema is not None and kind not in ("approval", "clarification"):
        raise misuse_error(
            f"The interrupt {key} cannot have a resume_schema: its surface says which answers are valid."
        )
    return surface_document(f"The surface of the interrupt {key}", request.surface)


def _check_form(interrupt: Interrupt) -> list[Violation]:
    """What the gate checks as well: here the author gets the error in the call."""
    surface = None if interrupt.form is None else parse_surface(interrupt.form)
    return [] if surface is None else check_binding(BoundSurface(surface, interrupt.kind, interrupt.data))


def surface_document(what: str, surface: Any) -> dict[str, Any]:
    """The payload of a surface of the author: a built one, or its JSON. Raises NodeError."""
    try:
        return to_json(from_json(to_json(surface) if isinstance(surface, Surface) else as_json(surface)))
    except (NotJson, SurfaceError) as error:
        raise misuse_error(f"{what} is invalid: {str(error).rstrip('.')}.") from None


def _has_only_data(request: InterruptRequest) -> bool:
    timed = request.timeout is not None or request.default is not NO_DEFAULT or bool(request.remind_after)
    timed = timed or request.surface is not None
    return not timed and request.resume_schema is None


def _data(request: InterruptRequest) -> Any:
    key = request.key
    if request.kind != "custom":
        if request.custom_kind is not None:
            raise misuse_error(
                f"The interrupt {key} has the kind {request.kind}; custom_kind is allowed only with the kind custom."
            )
        return _json(key, "data", request.data)
    custom_kind = key if request.custom_kind is None else request.custom_kind
    if not isinstance(custom_kind, str) or not 0 < len(custom_kind) <= MAX_CUSTOM_KIND:
        raise misuse_error(f"custom_kind of the interrupt {key} must have 1 to {MAX_CUSTOM_KIND} characters.")
    if custom_kind.startswith(HOST_PREFIX):
        raise misuse_error(f"Custom kinds that begin with {HOST_PREFIX} are reserved for the host.")
    data = _json(key, "data", {"customKind": custom_kind, "payload": request.data})
    if request.data is None:
        del data["payload"]
    return data


def _json(key: str, what: str, value: Any) -> Any:
    try:
        return as_json(value)
    except NotJson as error:
        raise misuse_error(f"The {what} of the interrupt {key} is not JSON: {error}.") from None


def _milliseconds(key: str, what: str, duration: Any) -> int:
    """Rounded up, so that a timeout is never shorter than requested."""
    if isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    else:
        seconds = duration if isinstance(duration, int | float) and not isinstance(duration, bool) else math.nan
    # Every comparison with NaN is false, so `not (0 < x <= max)` refuses values that are not numbers.
    if not 0 < seconds * 1000 <= MAX_TIMEOUT_MS:
        limit = f"{MAX_TIMEOUT_MS // 86_400_000:,} days"
        raise misuse_error(
            f"{what} of the interrupt {key} must be seconds or a timedelta, greater than 0 and up to {limit}."
        )
    return math.ceil(seconds * 1000)


def _reminders(key: str, remind_after: Any) -> tuple[int, ...]:
    if isinstance(remind_after, int | float | timedelta):
        remind_after = (remind_after,)
    if not isinstance(remind_after, Iterable):
        raise misuse_error(f"remind_after of the interrupt {key} must be a list of seconds or timedeltas.")
    durations = cast("Iterable[Any]", remind_after)
    return tuple(sorted({_milliseconds(key, "remind_after", each) for each in durations}))


def key_conflict_error(key: str) -> NodeError:
    """The error for two interrupts of different kinds with the same key."""
    return misuse_error(
        f"The key {key} belongs to an interrupt of another kind; use a different key for each interrupt."
    )


class SurfaceAnswer(msgspec.Struct, frozen=True):
    """The answer of a person to a surface."""

    action: str
    """The id of the pressed button."""
    values: dict[str, Any]
    """The values by field id. A field that was left empty has none; a check box always has one."""


def _surface_answer(key: str, value: Any) -> SurfaceAnswer:
    if not is_object(value) or not isinstance(value.get(ACTION), str):
        raise key_conflict_error(key)
    return SurfaceAnswer(value[ACTION], {name: each for name, each in value.items() if name != ACTION})


def answer_value(request: InterruptRequest, resolution: Resolution) -> Any:
    """The answer that the author gets; for an approval, the decision, also if it is a rejection.

    Raises InterruptTimeout, or NodeError if the recorded answer belongs to an interrupt of another kind.
    """
    if request.kind == "approval":
        return _decision(request, resolution)
    if resolution.timed_out:
        if request.default is NO_DEFAULT:
            raise InterruptTimeout(request.key)
        return request.default
    if request.returns_surface_answer:
        return _surface_answer(request.key, resolution.value)
    if request.answer_member is None:
        return resolution.value
    if not is_object(resolution.value) or request.answer_member not in resolution.value:
        raise key_conflict_error(request.key)
    return resolution.value[request.answer_member]


def _decision(request: InterruptRequest, resolution: Resolution) -> dict[str, Any]:
    """The decision of an approval. A timeout is a rejection without a person who decided."""
    if resolution.timed_out:
        decision: dict[str, Any] = {"action": "reject", "decidedBy": None}
    elif is_object(resolution.value) and "action" in resolution.value:
        decision = {**resolution.value}
    else:
        raise key_conflict_error(request.key)
    if resolution.reason is not None:
        decision["reason"] = resolution.reason
    if resolution.votes:
        decision["votes"] = {**resolution.votes}
    return decision
