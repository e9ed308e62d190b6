"""Two runs as lines: what differs in their outcomes, and their differing events side by side.

On a narrow screen, the values of both runs are below each other. Every text of the host goes through `clean`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from weftwork.cli.client.event_stream import frame_of_document
from weftwork.cli.compare.alignment import EventPair
from weftwork.cli.compare.media_names import MediaNames
from weftwork.cli.compare.value_differences import ValueDifference, value_differences, value_texts
from weftwork.cli.console.documents import as_object, as_text, objects
from weftwork.cli.console.table import truncate
from weftwork.cli.console.text import clean, display_width
from weftwork.cli.console.units import count_of
from weftwork.cli.render.event_line import event_line
from weftwork.protocol.json.values import is_object
from weftwork.protocol.review.compared_form import ComparedForm

MIN_COLUMN: Final = 30
"""Minimum width of a column; if it does not fit, both runs are shown below each other."""
MAX_MEMBERS: Final = 20
"""Maximum number of differing values that are shown of one event, or of one value of the outcome."""
_MARKS: Final = {"same": " ", "changed": "|", "removed": "<", "added": ">"}
_STYLES: Final = {"same": "dim", "changed": "yellow", "removed": "red", "added": "green"}

StyledLine = tuple[str, str]
"""A line and its style."""


class SideBySide:
    """Draws lines for a screen of `width` columns."""

    def __init__(self, width: int, media: MediaNames, form: ComparedForm) -> None:
        self._media = media
        self._form = form
        self._column = (width - 3) // 2 if (width - 3) // 2 >= MIN_COLUMN else 0
        """Width of a column; 0 if both runs are shown below each other."""
        self._room = self._column or max(MIN_COLUMN, width - 2)

    def outcome_lines(self, differences: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[StyledLine]:
        """Lines for the differing values of the outcome, by pointer."""
        for pointer, pair in differences:
            if "a" in pair and "b" in pair:
                yield from self._value_lines(self._differences(pair["a"], pair["b"], pointer))
                continue
            side, change = ("a", "removed") if "a" in pair else ("b", "added")
            text = f"{pointer}  {clean(self._media.readable(pair.get(side)), self._room)}"
            yield from self._lines(change, text if side == "a" else "", text if side == "b" else "")

    def event_lines(self, pairs: Sequence[EventPair], context: int, most: int | None) -> Iterator[StyledLine]:
        """Lines for the differing events, each with up to `context` equal events before and after it."""
        near = [False] * len(pairs)
        for at, pair in enumerate(pairs):
            if pair.change not in ("same", "omitted"):
                near[max(0, at - context) : at + context + 1] = [True] * (
                    min(len(pairs), at + context + 1) - max(0, at - context)
                )
        hidden = shown = 0
        for at, pair in enumerate(pairs):
            is_difference = pair.change not in ("same", "omitted")
            if is_difference and most is not None and shown >= most:
                rest = sum(1 for each in pairs[at:] if each.change not in ("same", "omitted"))
                yield f"… and {count_of(rest, 'more difference')}; --all shows them", "dim"
                return
            if pair.change == "omitted" or not near[at]:
                hidden += pair.length
                continue
            if hidden:
                yield f"… {count_of(hidden, 'equal event')}", "dim"
                hidden = 0
            shown += is_difference
            yield from self._event_lines(pair)
        if hidden:
            yield f"… {count_of(hidden, 'equal event')}", "dim"

    def _event_lines(self, pair: EventPair) -> Iterator[StyledLine]:
        if pair.change != "changed" or pair.a is None or pair.b is None:
            texts = [self._event_text(each) if each is not None else "" for each in (pair.a, pair.b)]
            yield from self._lines(pair.change, *texts)
            return
        yield from self._lines("changed", _event_name(pair.a), _event_name(pair.b))
        payloads = [self._payload(each) for each in (pair.a, pair.b)]
        yield from self._value_lines(list(value_differences(*payloads)), "  ")

    def _payload(self, event: dict[str, Any]) -> Any:
        value = self._form.stable_members(as_text(event.get("type")), self._media.readable(event.get("payload")))
        return self._form.without_ids_in(value)

    def _differences(self, a: Any, b: Any, pointer: str) -> list[ValueDifference]:
        one, other = (self._form.without_ids_in(self._media.readable(each)) for each in (a, b))
        # Values can be equal here if they differ in what is not shown, such as the rest of an id.
        return list(value_differences(one, other, pointer)) or [ValueDifference(pointer, one, other)]

    def _value_lines(self, differences: Sequence[ValueDifference], indent: str = "") -> Iterator[StyledLine]:
        for each in differences[:MAX_MEMBERS]:
            name = clean(each.pointer, max(16, self._room // 2))
            head = f"{indent}{name}  "
            a, b = value_texts(each, max(16, self._room - display_width(head)))
            yield from self._lines("changed", head + a, head + b)
        if len(differences) > MAX_MEMBERS:
            yield f"{indent}… and {count_of(len(differences) - MAX_MEMBERS, 'more value')}", "dim"

    def _event_text(self, event: dict[str, Any]) -> str:
        document = self._media.readable(event)
        # The time is left out: it differs between any two runs. The fields of a line contain no spaces.
        _, sequence, rest = event_line(frame_of_document(as_object(document), "")).split(" ", 2)
        return f"{sequence:>4} {rest}"

    def _lines(self, change: str, a: str, b: str) -> Iterator[StyledLine]:
        style = _STYLES[change]
        if self._column:
            left, right = (truncate(each, self._column, "…") for each in (a, b))
            padding = " " * (self._column - display_width(left))
            yield f"{left}{padding} {_MARKS[change]} {right}".rstrip(), style
        elif change == "same":
            yield f"  {truncate(a, self._room, '…')}", style
        else:
            if a:
                yield f"- {truncate(a, self._room, '…')}", "red"
            if b:
                yield f"+ {truncate(b, self._room, '…')}", "green"


def _event_name(event: dict[str, Any]) -> str:
    sequence, node_id = event.get("sequence"), as_text(event.get("nodeId"))
    number = str(sequence) if isinstance(sequence, int) else "-"
    return f"{number:>4} {clean(as_text(event.get('type')), 100)} {clean(node_id, 100)}".rstrip()


def outcome_pairs(outcome: Any, diff: Any) -> list[tuple[str, dict[str, Any]]]:
    """The differences of the outcome by pointer: from the outcome document, or from the `stateDiff` of a host that has
    no outcome document."""
    if outcome is not None:
        rows = objects(as_object(outcome).get("differences"))
        return [(clean(as_text(row.get("pointer")), 200), row) for row in rows]
    state = as_object(as_object(diff).get("stateDiff"))
    return [(clean(name, 200), pair if is_object(pair) else {"b": pair}) for name, pair in state.items()]
