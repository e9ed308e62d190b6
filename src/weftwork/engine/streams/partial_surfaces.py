"""Partial surfaces: what readers see of a surface while its model still writes it.

Theory of operation. Chunks of an answer are durable before they are read here, and a partial surface contains nothing
that is not in them. It is never stored. At most one frame per node is kept, the newest, so a slow reader skips frames,
and a reader that connects later gets the current one. The frame is dropped when the surface is recorded, and replaced
by one that says that it is void when the node continues without one.

The text of an answer is kept only as long as it can be a surface. An answer that another process writes has no partial
surfaces here: readers get the recorded one.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.envelopes.partial_surface import PartialSurface
from weftwork.protocol.run.events import OUTPUT_CHUNK, TERMINAL_TYPES, Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.streams import StreamFrame
from weftwork.protocol.wire.surface_frames import partial_frame

MAX_KEPT: Final = 16 * 2**20
"""Characters of all answers that are read at the same time. An answer beyond it has no partial surfaces."""
_NODE_FAMILY: Final = "node."
_REFUSALS: Final = frozenset(
    """
    envelope.retry.attempted envelope.retry.exhausted envelope.refusal envelope.truncated envelope.nlToFormat.engaged
    """.split()
)
"""A node that records one of these types, or one about itself, has no use for its answer, or has used it before."""

VisibleSurface = Callable[[str, dict[str, Any]], dict[str, Any] | None]
"""The payload of a node's surface as readers of the run may see it; None if they may not see it as a surface."""


class PartialFrame(msgspec.Struct, frozen=True):
    """The newest frame of one node. `number` counts the frames of all runs."""

    number: int
    sequence: int
    frame: StreamFrame
    is_void: bool


class _Chunk(msgspec.Struct, rename="camel"):
    chunk: str
    is_last: bool


_decode_chunk: Final = msgspec.json.Decoder(_Chunk).decode


class _Answer(msgspec.Struct, eq=False):
    surface: PartialSurface
    frames: int = 0


class _Run(msgspec.Struct, eq=False):
    """The answers in progress and the frames of one run, by node."""

    answers: dict[str, _Answer] = {}
    frames: dict[str, PartialFrame] = {}


class PartialSurfaces:
    """The partial surfaces of all runs that this process executes."""

    def __init__(self) -> None:
        self.runs: dict[RunKey, _Run] = {}
        """The runs with an answer in progress or with a frame. All others cost nothing."""
        self._number = 0
        self._kept = 0

    def update(self, run: RunKey, events: tuple[Event, ...], visible: VisibleSurface) -> None:
        """surf-51: take over committed events of a run, in the order of the log. An answer that is complete is not
        read any more: its surface, or its refusal, is about to be recorded."""
        held = self.runs.get(run)
        if held is None:
            held = _Run()
        texts: dict[str, list[str]] = {}
        newest: dict[str, Event] = {}
        for event in events:
            node_id, kind = event.node_id, event.type
            if kind in TERMINAL_TYPES:
                self.drop(run)
                return
            if node_id is None:
                continue
            if kind == OUTPUT_CHUNK:
                if node_id in held.frames and node_id not in held.answers and node_id not in texts:
                    # The node writes a new answer, so the surface of the one before was not accepted.
                    self._void(held, event)
                chunk = _decode_chunk(event.payload)
                if chunk.is_last:
                    texts.pop(node_id, None)
                    self._end_answer(held, node_id)
                else:
                    texts.setdefault(node_id, []).append(chunk.chunk)
                    newest[node_id] = event
            elif node_id in held.frames:
                if kind == SURFACE_KIND:
                    del held.frames[node_id]
                elif kind in _REFUSALS or kind.startswith(_NODE_FAMILY):
                    self._void(held, event)
        for node_id, parts in texts.items():
            self._add_text(held, newest[node_id], "".join(parts), visible)
        if held.answers or held.frames:
            self.runs[run] = held
        else:
            self.runs.pop(run, None)

    def drop(self, run: RunKey) -> None:
        """Forget a run: it has ended, or this process no longer executes it."""
        self.forget_answers(run)
        self.runs.pop(run, None)

    def forget_answers(self, run: RunKey) -> None:
        """Stop reading the answers in progress, because their next chunks may be missing. What was shown stays until
        the node continues."""
        held = self.runs.get(run)
        if held is not None:
            self._kept -= sum(each.surface.size for each in held.answers.values())
            held.answers.clear()

    def drop_void(self, run: RunKey) -> None:
        """Forget what only the current readers of a run need. Called when its last reader has left."""
        held = self.runs.get(run)
        if held is not None:
            held.frames = {node: each for node, each in held.frames.items() if not each.is_void}
            if not held.answers and not held.frames:
                del self.runs[run]

    def after(self, run: RunKey, sequence: int, shown: dict[str, int]) -> list[tuple[str, PartialFrame]]:
        """The frames, with their nodes, for a reader at this sequence that was shown these numbers by node."""
        held = self.runs.get(run)
        if held is None:
            return []
        return [
            (node, each)
            for node, each in held.frames.items()
            if each.sequence <= sequence and each.number > shown.get(node, 0) and (node in shown or not each.is_void)
        ]

    def _add_text(self, held: _Run, event: Event, text: str, visible: VisibleSurface) -> None:
        """Add a part of an answer, of which this event is the last chunk so far."""
        node_id = event.node_id or ""
        answer = held.answers.get(node_id)
        if answer is None:
            answer = held.answers[node_id] = _Answer(PartialSurface())
        surface, kept = answer.surface, answer.surface.size
        has_changed = surface.add(text)
        if self._kept + surface.size - kept > MAX_KEPT:
            has_changed = surface.close() or has_changed
        self._kept += surface.size - kept
        if has_changed:
            payload = visible(node_id, surface.payload) if surface.payload is not None else None
            if payload is None:
                self._void(held, event)
            else:
                self._set_frame(held, event, payload, answer.frames)
                answer.frames += 1

    def _end_answer(self, held: _Run, node_id: str) -> None:
        answer = held.answers.pop(node_id, None)
        if answer is not None:
            self._kept -= answer.surface.size

    def _void(self, held: _Run, event: Event) -> None:
        """Replace the frame of the node, if it has one, by one that says that it is void."""
        known = held.frames.get(event.node_id or "")
        if known is not None and not known.is_void:
            self._set_frame(held, event, None, 0)

    def _set_frame(self, held: _Run, event: Event, payload: dict[str, Any] | None, index: int) -> None:
        self._number += 1
        frame = partial_frame(event, payload, index)
        held.frames[event.node_id or ""] = PartialFrame(self._number, event.sequence, frame, payload is None)
