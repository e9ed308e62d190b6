"""The usage of models by a part of a run: calls, tokens and cost, from its `provider.usage` events.

An event has no cost if the host does not know the price of the model. The cost of the whole is unknown then, and never
counted as 0.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from weftwork.cli.client.event_stream import ReceivedFrame, frame_of_document
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.documents import as_list, as_number, as_object, as_text
from weftwork.cli.console.units import parse_time
from weftwork.protocol.run.events import CHILD_STARTED, MODEL_ANSWERED, TERMINAL_TYPES
from weftwork.protocol.wire.v1.paths import path_for

USAGE: Final = "provider.usage"
MODEL_EVENTS: Final = frozenset({USAGE, MODEL_ANSWERED})
"""Events after which a node has called a model."""
MAX_DEPTH: Final = 20
"""Maximum number of generations of child runs that are read."""


class ModelUsage(msgspec.Struct):
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    unpriced_calls: int = 0
    cost: float = 0.0
    """US dollars, of the calls with a known price."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def cost_usd(self) -> float | None:
        """None if the price of a call is unknown."""
        return None if self.unpriced_calls else round(self.cost, 9)

    def add(self, other: "ModelUsage") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def document(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cacheReadTokens": self.cached_tokens,
            "totalTokens": self.total_tokens,
            "costUsd": self.cost_usd,
            "unpricedCalls": self.unpriced_calls,
        }


class Usage(msgspec.Struct):
    """The usage by PROVIDER/MODEL."""

    models: dict[str, ModelUsage] = {}

    @property
    def total(self) -> ModelUsage:
        total = ModelUsage()
        for each in self.models.values():
            total.add(each)
        return total

    def copy(self) -> "Usage":
        """A copy that does not change with this one, which another thread may be adding to."""
        return Usage({name: msgspec.structs.replace(each) for name, each in dict(self.models).items()})

    def add(self, other: "Usage") -> None:
        for name, each in other.models.items():
            self.models.setdefault(name, ModelUsage()).add(each)

    def add_event(self, payload: dict[str, Any]) -> None:
        cost = payload.get("costEstimateUsd")
        price = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
        model = f"{as_text(payload.get('provider'))}/{as_text(payload.get('model'))}"
        call = ModelUsage(
            1,
            as_number(payload.get("inputTokens")),
            as_number(payload.get("outputTokens")),
            as_number(payload.get("cacheReadTokens")),
            int(price is None),
            price or 0.0,
        )
        self.models.setdefault(model, ModelUsage()).add(call)

    @property
    def document(self) -> dict[str, Any]:
        listed = [{"model": name, **self.models[name].document} for name in sorted(self.models)]
        return {**self.total.document, "models": listed}


class LogPart:
    """Collects, from the events of a run from `from_seq` on: the usage, the child runs that were started, and the
    time."""

    def __init__(self, from_seq: int) -> None:
        self.usage = Usage()
        self.children: list[str] = []
        self._from_seq = from_seq
        self._first: Any = None
        self._last: Any = None

    def add(self, frame: ReceivedFrame) -> None:
        if frame.sequence is None or frame.sequence < self._from_seq:
            return
        event = as_object(frame.data)
        payload = as_object(event.get("payload"))
        self._first = self._first or event.get("timestamp")
        if frame.event_type == USAGE:
            self.usage.add_event(payload)
        elif frame.event_type == CHILD_STARTED and (child := as_text(payload.get("childRunId"))):
            self.children.append(child)
        elif frame.event_type in TERMINAL_TYPES:
            self._last = event.get("timestamp")

    @property
    def duration_ms(self) -> float | None:
        """The time from the first of the events to the end of the run; None if it has not ended."""
        first, last = parse_time(self._first), parse_time(self._last)
        return None if first is None or last is None else (last - first).total_seconds() * 1000


def read_events(client: Client, run_id: str) -> Iterable[ReceivedFrame]:
    """The events that the run has now, page by page."""
    last = -1
    while True:
        page = as_object(client.get(path_for("pollRunEvents", runId=run_id), lastSequence=last, timeout=1))
        frames = [frame_of_document(each, "") for each in as_list(page.get("events"))]
        yield from frames
        sequences = [each.sequence for each in frames if each.sequence is not None]
        if page.get("isComplete") is True or max(sequences, default=last) <= last:
            return
        last = max(sequences)


def usage_of_children(client: Client, run_ids: Sequence[str]) -> Usage:
    """The usage of these runs and of their child runs."""
    usage = Usage()
    seen = set(run_ids)
    for _ in range(MAX_DEPTH):
        started: list[str] = []
        for run_id in run_ids:
            part = LogPart(0)
            for frame in read_events(client, run_id):
                part.add(frame)
            usage.add(part.usage)
            started += [each for each in part.children if each not in seen]
        seen.update(started)
        run_ids = started
    return usage
