"""ctx.interrupt and the calls like it: from the author's arguments to an interrupt, and from its resolution back."""

import math
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, cast

import msgspec

from weftwork.adapters.python.errors import InterruptTimeout, NodeError, misuse_error
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.values import is_object
from weftwork.protocol.people.interrupt_validation import MAX_TIMEOUT_MS, check_interrupt
from weftwork.protocol.run.events import RESERVED_PREFIXES
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, NON_BLOCKING_KINDS, Interrupt, Resolution

Seconds = float | timedelta

NO_DEFAULT: Final[Any] = msgspec.UNSET
"""Stands for a default that the author did not give; None is one."""
MAX_CUSTOM_KIND: Final = 128

_KEY: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class InterruptRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question as its author put it, which nobody has looked at yet."""

    key: Any
    kind: Any = "custom"
    data: Any = None
    custom_kind: Any = None
    resume_schema: Any = None
    timeout: Any = None
    default: Any = NO_DEFAULT
    remind_after: Any = ()
    answer_member: str | None = None
    """The member of the answer that the author gets, if not the whole."""


def wire_key(call: NodeCall, key: str) -> str:
    """Known outside as `nodeId:visit:key`: each round of a loop asks anew."""
    return f"{call.node_id}:{call.visit}:{key}"


def build_interrupt(call: NodeCall, asked: InterruptRequest) -> Interrupt:
    """The interrupt. Raises NodeError, node_misused, that says what to do."""
    key, kind = asked.key, asked.kind
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        raise misuse_error("The key of a question takes 1 to 64 letters, digits, dots, dashes and underscores.")
    if not isinstance(kind, str) or kind not in INTERRUPT_KINDS:
        raise misuse_error(f"The question {key} needs one of the kinds {', '.join(INTERRUPT_KINDS)}.")
    if kind in NON_BLOCKING_KINDS and not _has_only_data(asked):
        raise misuse_error(f"Nobody answers a {kind}; it takes its key and its data alone.")
    if kind == "approval" and asked.default is not NO_DEFAULT:
        raise misuse_error(f"The approval {key} takes no default: when its time is over it is rejected.")
    interrupt = Interrupt(
        kind,
        wire_key(call, key),
        _data(asked),
        _json(key, "schema", asked.resume_schema),
        None if asked.timeout is None else _milliseconds(key, "timeout", asked.timeout),
        _reminders(key, asked.remind_after),
    )
    if violations := check_interrupt(interrupt):
        first = violations[0]
        raise misuse_error(f"The question {key} does not fit its kind, {kind}: {first.pointer or '/'} {first.message}.")
    return interrupt


def _has_only_data(asked: InterruptRequest) -> bool:
    timed = asked.timeout is not None or asked.default is not NO_DEFAULT or bool(asked.remind_after)
    return not timed and asked.resume_schema is None


def _data(asked: InterruptRequest) -> Any:
    key = asked.key
    if asked.kind != "custom":
        if asked.custom_kind is not None:
            raise misuse_error(
                f"The question {key} is of the kind {asked.kind}; only the kind custom takes a custom_kind."
            )
        return _json(key, "data", asked.data)
    named = key if asked.custom_kind is None else asked.custom_kind
    if not isinstance(named, str) or not 0 < len(named) <= MAX_CUSTOM_KIND:
        raise misuse_error(f"A custom kind takes 1 to {MAX_CUSTOM_KIND} characters.")
    if named.startswith(RESERVED_PREFIXES[0]):
        raise misuse_error(f"Custom kinds that begin with {RESERVED_PREFIXES[0]} are the host's own.")
    data = _json(key, "data", {"customKind": named, "payload": asked.data})
    if asked.data is None:
        del data["payload"]
    return data


def _json(key: str, what: str, value: Any) -> Any:
    try:
        return as_json(value)
    except NotJson as error:
        raise misuse_error(f"The {what} of the question {key} is not JSON: {error}.") from None


def _milliseconds(key: str, what: str, given: Any) -> int:
    """Rounded up: nobody gets less time than was said."""
    if isinstance(given, timedelta):
        seconds = given.total_seconds()
    else:
        seconds = given if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    # Compared this way round, so that what is no number fails too.
    if not 0 < seconds * 1000 <= MAX_TIMEOUT_MS:
        most = f"{MAX_TIMEOUT_MS // 86_400_000:,} days"
        raise misuse_error(f"{what} of the question {key} takes seconds or a timedelta, more than 0 and up to {most}.")
    return math.ceil(seconds * 1000)


def _reminders(key: str, given: Any) -> tuple[int, ...]:
    if isinstance(given, int | float | timedelta):
        given = (given,)
    if not isinstance(given, Iterable):
        raise misuse_error(f"remind_after of the question {key} takes numbers of seconds, or timedeltas.")
    found = cast("Iterable[Any]", given)
    return tuple(sorted({_milliseconds(key, "remind_after", each) for each in found}))


def key_conflict_error(key: str) -> NodeError:
    """Two questions of different kinds share a key."""
    return misuse_error(f"The key {key} belongs to a question of another kind; give each question a key of its own.")


def answer_value(asked: InterruptRequest, resolution: Resolution) -> Any:
    """The answer; a rejection counts as one. Raises InterruptTimeout, or NodeError if it answers something else."""
    if asked.kind == "approval":
        return _decision(asked, resolution)
    if resolution.timed_out:
        if asked.default is NO_DEFAULT:
            raise InterruptTimeout(asked.key)
        return asked.default
    if asked.answer_member is None:
        return resolution.value
    if not is_object(resolution.value) or asked.answer_member not in resolution.value:
        raise key_conflict_error(asked.key)
    return resolution.value[asked.answer_member]


def _decision(asked: InterruptRequest, resolution: Resolution) -> dict[str, Any]:
    """An approval always comes to a decision: nobody's, when its time is over, is a rejection."""
    if resolution.timed_out:
        decision: dict[str, Any] = {"action": "reject", "decidedBy": None}
    elif is_object(resolution.value) and "action" in resolution.value:
        decision = {**resolution.value}
    else:
        raise key_conflict_error(asked.key)
    if resolution.reason is not None:
        decision["reason"] = resolution.reason
    if resolution.votes:
        decision["votes"] = {**resolution.votes}
    return decision
