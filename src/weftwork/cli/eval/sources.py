"""Sources: the recorded runs of an evaluation, and the event at which their branches begin.

A branch begins at the start of the first node that called a model. A run that called a model only in a child run is
branched at the start of the node that started this child.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import click
import msgspec

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.console.documents import as_object, as_text
from weftwork.cli.console.option_values import read_file
from weftwork.cli.eval.usage import MODEL_EVENTS, LogPart, Usage, read_events, usage_of_children
from weftwork.protocol.models.selection import requested_mock
from weftwork.protocol.run.events import CHILD_STARTED
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.wire.v1.paths import path_for

NOT_ENDED: Final = "it has not ended"
NO_MODEL: Final = "it called no model"
MOCKED: Final = "its models are mocked (mockProvider)"
MAX_DEPTH: Final = 20
"""Maximum number of generations of child runs that are searched for a model call."""


class ForkPoint(msgspec.Struct, frozen=True):
    from_seq: int
    node_id: str


class Source(msgspec.Struct, frozen=True):
    """A recorded run. `usage` and `duration_ms` are those of its part from the fork point on."""

    run_id: str
    snapshot: dict[str, Any]
    point: ForkPoint
    usage: Usage
    duration_ms: float | None


class Skipped(msgspec.Struct, frozen=True):
    """A run that is not evaluated, and why."""

    run_id: str
    reason: str


def find_fork_point(frames: Iterable[ReceivedFrame], calls_model: Callable[[str], bool]) -> ForkPoint | None:
    """The latest start of the node that was the first to call a model; None if no node did.

    `calls_model` says whether a child run called a model.
    """
    started: dict[str, int] = {}
    for frame in frames:
        event = as_object(frame.data)
        payload = as_object(event.get("payload"))
        node_id = as_text(event.get("nodeId")) or as_text(payload.get("nodeId"))
        if frame.sequence is None:
            continue
        if frame.event_type == "node.started":
            started[node_id] = frame.sequence
        elif node_id in started and (
            frame.event_type in MODEL_EVENTS
            or (frame.event_type == CHILD_STARTED and calls_model(as_text(payload.get("childRunId"))))
        ):
            return ForkPoint(started[node_id], node_id)
    return None


def named_runs(client: Client, texts: Sequence[str]) -> list[str]:
    """The ids of the runs that arguments name: an id, a prefix, or @FILE with one of them per line. Each run is
    returned once. Raises UsageError."""
    found: dict[str, None] = {}
    for text in texts:
        for each in _lines(text[1:]) if text.startswith("@") else [text]:
            found[complete_run_id(client, each)] = None
    return list(found)


def _lines(file: str) -> list[str]:
    try:
        lines = read_file("RUN", file).decode().splitlines()
    except UnicodeDecodeError:
        raise click.UsageError(f"@{file} is not valid UTF-8.") from None
    return [text for line in lines if (text := line.partition("#")[0].strip())]


def read_source(client: Client, run_id: str) -> Source | Skipped:
    """The recorded run, or why it cannot be branched. Raises RequestRefused unless the run does not exist."""
    try:
        snapshot = as_object(client.get(path_for("getRun", runId=run_id)))
    except RequestRefused as refused:
        if refused.status != 404:
            raise
        return Skipped(run_id, "the host has no such run")
    if snapshot.get("status") not in TERMINAL_STATUSES:
        return Skipped(run_id, NOT_ENDED)
    if requested_mock(as_object(snapshot.get("configurable"))) is not None:
        return Skipped(run_id, MOCKED)
    frames = list(read_events(client, run_id))
    point = find_fork_point(frames, lambda child: _calls_model(client, child))
    if point is None:
        return Skipped(run_id, NO_MODEL)
    part = LogPart(point.from_seq)
    for frame in frames:
        part.add(frame)
    part.usage.add(usage_of_children(client, part.children))
    return Source(run_id, snapshot, point, part.usage, part.duration_ms)


def _calls_model(client: Client, run_id: str, depth: int = 1) -> bool:
    """Whether a run or one of its child runs called a model. A child that was deleted counts as one that did not."""
    children: list[str] = []
    try:
        for frame in read_events(client, run_id):
            if frame.event_type in MODEL_EVENTS:
                return True
            if frame.event_type == CHILD_STARTED:
                children.append(as_text(as_object(as_object(frame.data).get("payload")).get("childRunId")))
    except RequestRefused as refused:
        if refused.status != 404:
            raise
        return False
    return depth < MAX_DEPTH and any(_calls_model(client, each, depth + 1) for each in children)
