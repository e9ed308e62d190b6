"""Aligns the events of two logs by their content, so that one more event does not make all later ones differ."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple

import msgspec

from weftwork.cli.console.documents import as_object, as_text, objects
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.review.compared_form import ComparedForm

MAX_ALIGNED: Final = 1_000
"""Differing events of each log that are aligned by content. The search takes time in proportion to its square."""

Change = Literal["same", "changed", "removed", "added", "omitted"]


class EventPair(NamedTuple):
    """Two events next to each other, or one event, or a number of equal events that are not known."""

    change: Change
    a: dict[str, Any] | None = None
    b: dict[str, Any] | None = None
    length: int = 1


class _Item(NamedTuple):
    """An event, or the equal events of both logs between two differences."""

    key: bytes
    kind: tuple[str, str]
    event: dict[str, Any] | None
    length: int = 0


_NO_KIND: Final = ("", "")
"""The kind of items for events that are equal in both logs."""


def event_key(form: ComparedForm, event: dict[str, Any]) -> bytes:
    """Equal for events that are equal in a diff."""
    head = [as_text(event.get(name)) for name in ("type", "nodeId")]
    payload = form.stable_payload(head[0], encode_stored(event.get("payload")))
    return msgspec.json.encode(head) + payload


def align_events(
    diffs: Sequence[Any], form: ComparedForm, equal: Mapping[int, dict[str, Any]], context: int
) -> list[EventPair]:
    """The events of the differences of a diff, in order. Events beyond MAX_ALIGNED are paired by their sequence.

    `equal` has events that are the same in both logs, by sequence. Up to `context` of them are included before and
    after each difference.
    """
    entries = objects(diffs)
    aligned, rest = entries[:MAX_ALIGNED], entries[MAX_ALIGNED:]
    one, other = (list(_items(aligned, name, form, equal, context)) for name in ("aEvent", "bEvent"))
    pairs: list[EventPair] = []
    matcher = SequenceMatcher(None, [each.key for each in one], [each.key for each in other], autojunk=False)
    for _, start_a, end_a, start_b, end_b in matcher.get_opcodes():
        pairs += _pairs(one[start_a:end_a], other[start_b:end_b])
    for each in rest:
        a, b = (as_object(each[name]) if name in each else None for name in ("aEvent", "bEvent"))
        pairs.append(EventPair("changed" if a and b else "removed" if a else "added", a, b))
    return pairs


def _items(
    entries: Sequence[dict[str, Any]], name: str, form: ComparedForm, equal: Mapping[int, dict[str, Any]], context: int
) -> Iterator[_Item]:
    expected: int | None = None
    for entry in entries:
        sequence = entry.get("seq")
        if isinstance(sequence, int):
            if expected is not None and sequence > expected:
                yield from _equal_items(expected, sequence, equal, context)
            expected = sequence + 1
        if name in entry:
            event = as_object(entry[name])
            kind = as_text(event.get("type")), as_text(event.get("nodeId"))
            yield _Item(event_key(form, event), kind, event)


def _equal_items(start: int, end: int, equal: Mapping[int, dict[str, Any]], context: int) -> Iterator[_Item]:
    """The items for equal events between two differences. They are the same for both logs, so that they can be aligned
    with each other."""
    shown = [at for at in range(start, end) if (at < start + context or at >= end - context) and at in equal]
    at = start
    for each in [*shown, end]:
        if each > at:
            yield _Item(b"equal %d %d" % (at, each), _NO_KIND, None, each - at)
        if each < end:
            yield _Item(b"equal %d" % each, _NO_KIND, equal[each])
        at = each + 1


def _pairs(one: Sequence[_Item], other: Sequence[_Item]) -> Iterator[EventPair]:
    """The items of a block: equal ones, or those of a difference, with events of the same type and node paired."""
    if [each.key for each in one] == [each.key for each in other]:
        for a, b in zip(one, other, strict=True):
            yield EventPair("same", a.event, b.event) if a.event is not None else EventPair("omitted", length=a.length)
        return
    # A gap on one side only was already shown, or will be, with the events around it.
    left, right = ([each for each in side if each.kind != _NO_KIND] for side in (one, other))
    matcher = SequenceMatcher(None, [each.kind for each in left], [each.kind for each in right], autojunk=False)
    for tag, start_a, end_a, start_b, end_b in matcher.get_opcodes():
        if tag == "equal":
            for a, b in zip(left[start_a:end_a], right[start_b:end_b], strict=True):
                yield EventPair("changed", a.event, b.event)
        else:
            yield from (EventPair("removed", a=each.event) for each in left[start_a:end_a])
            yield from (EventPair("added", b=each.event) for each in right[start_b:end_b])
