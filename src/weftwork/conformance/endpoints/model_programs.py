"""Programs of the scripted provider: the answers for individual nodes, call by call, and the observed token budgets."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.adapters.providers.script import EMPTY_ENTRY, Script, ScriptEntry, parse_entry
from weftwork.adapters.providers.scripted import ScriptPlayer, put_recent
from weftwork.ports.models import ModelMediaPart, ModelRequest
from weftwork.protocol.envelopes.completion import DEFAULT_BUDGET
from weftwork.protocol.media.message_parts import Modality

MAX_PROGRAM_BYTES: Final = 16 * 2**20
"""Total size of all programs, measured when they are set. The least recently used program is evicted first."""

_NodeKey = tuple[str, str]
"""Partition and node id."""


class SeenMedia(msgspec.Struct, frozen=True):
    """The description of a media part that a node sent to a model, without its bytes."""

    modality: Modality
    media_type: str
    bytes: int
    sha256: str
    media_ref: str | None


class ScriptedPrograms(ScriptPlayer):
    """Plays the program of a node, or the script if the node has none. Stores nothing of a prompt except the
    descriptions of its media."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__(script)
        self._queues: OrderedDict[_NodeKey, deque[ScriptEntry]] = OrderedDict()
        self._sizes: dict[_NodeKey, int] = {}
        self._budgets: OrderedDict[_NodeKey, int] = OrderedDict()
        self._last_media: OrderedDict[_NodeKey, tuple[SeenMedia, ...]] = OrderedDict()

    def program(self, partition: str, node_id: str, entries: Iterable[Any]) -> int:
        """model-12 (host): set the answers for the next calls of a node, one entry per call. Replaces the rest of its
        earlier program.

        Returns the number of entries. Raises msgspec.ValidationError for an invalid entry and then changes nothing.
        """
        queue = deque(map(parse_entry, entries))
        put_recent(self._queues, (partition, node_id), queue)
        self._sizes[(partition, node_id)] = len(msgspec.json.encode(list(queue)))
        self._sizes = {node: self._sizes[node] for node in self._queues}
        while sum(self._sizes.values()) > MAX_PROGRAM_BYTES and len(self._queues) > 1:
            del self._sizes[self._queues.popitem(last=False)[0]]
        return len(queue)

    def take(self, request: ModelRequest) -> ScriptEntry:
        """The answer to this call: the next entry of the node's program, which is removed, or of the script."""
        node = (request.partition, request.node_id)
        put_recent(self._budgets, node, request.max_tokens or DEFAULT_BUDGET)
        put_recent(
            self._last_media, node, tuple(_seen_media(part) for message in request.messages for part in message.media)
        )
        queue = self._queues.get(node)
        if queue is not None:
            return queue.popleft() if queue else EMPTY_ENTRY
        return super().take(request)

    def last_media(self, partition: str, node_id: str) -> tuple[SeenMedia, ...]:
        """media-48 (host): the media of the node's last call, in order."""
        return self._last_media.get((partition, node_id), ())

    def last_budget(self, partition: str, node_id: str) -> int | None:
        """rel-11: the token budget of the node's last call: its maxTokens, or the default that the host assumes for a
        call without a limit. None if there was no call."""
        return self._budgets.get((partition, node_id))

    def reset(self, partition: str | None = None) -> None:
        """Delete programs, call counts, budgets and media of one partition, or of all partitions."""
        _delete_partition(self._last_media, partition)
        _delete_partition(self._queues, partition)
        _delete_partition(self._call_counts, partition)
        _delete_partition(self._budgets, partition)


def _seen_media(part: ModelMediaPart) -> SeenMedia:
    return SeenMedia(part.modality, part.media_type, part.size, part.sha256, part.media_ref)


def _delete_partition(values: OrderedDict[Any, Any], partition: str | None) -> None:
    for key in list(values):
        if partition is None or key[0] == partition:
            del values[key]
