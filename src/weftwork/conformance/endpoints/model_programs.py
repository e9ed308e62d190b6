"""Programs of the scripted provider: the answers for single nodes, call by call, and the budgets that they state."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.adapters.providers.script import EMPTY_ENTRY, Script, ScriptEntry, parse_entry
from weftwork.adapters.providers.scripted import ScriptPlayer, put_recent
from weftwork.ports.models import ModelMediaPart, ModelRequest
from weftwork.protocol.media.message_parts import Modality

MAX_PROGRAM_BYTES: Final = 16 * 2**20
"""Of programs, as they were when they were written; the one that was longest out of use goes first."""

_NodeKey = tuple[str, str]
"""Partition and node id."""


class SeenMedia(msgspec.Struct, frozen=True):
    """What a node has shown; not its bytes."""

    modality: Modality
    media_type: str
    bytes: int
    sha256: str
    media_ref: str | None


class ScriptedPrograms(ScriptPlayer):
    """Plays programs, and the script where a node has none. Keeps nothing of a prompt but what its media are."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__(script)
        self._queues: OrderedDict[_NodeKey, deque[ScriptEntry]] = OrderedDict()
        self._sizes: dict[_NodeKey, int] = {}
        self._budgets: OrderedDict[_NodeKey, int | None] = OrderedDict()
        self._last_media: OrderedDict[_NodeKey, tuple[SeenMedia, ...]] = OrderedDict()

    def program(self, partition: str, node_id: str, entries: Iterable[Any]) -> int:
        """model-12 (host): what the node is told from now on, one entry per call; replaces what was left over.

        Returns how many there are. Raises msgspec.ValidationError, and then nothing has changed.
        """
        queue = deque(map(parse_entry, entries))
        put_recent(self._queues, (partition, node_id), queue)
        self._sizes[(partition, node_id)] = len(msgspec.json.encode(list(queue)))
        self._sizes = {place: self._sizes[place] for place in self._queues}
        while sum(self._sizes.values()) > MAX_PROGRAM_BYTES and len(self._queues) > 1:
            del self._sizes[self._queues.popitem(last=False)[0]]
        return len(queue)

    def take(self, request: ModelRequest) -> ScriptEntry:
        """What is said in this call: the next entry of the node's program, which is gone with it, or of the script."""
        node = (request.partition, request.node_id)
        put_recent(self._budgets, node, request.max_tokens)
        put_recent(
            self._last_media, node, tuple(_seen_media(part) for message in request.messages for part in message.media)
        )
        queue = self._queues.get(node)
        if queue is not None:
            return queue.popleft() if queue else EMPTY_ENTRY
        return super().take(request)

    def last_media(self, partition: str, node_id: str) -> tuple[SeenMedia, ...]:
        """media-48 (host): the media of the node's last call, in their order."""
        return self._last_media.get((partition, node_id), ())

    def last_budget(self, partition: str, node_id: str) -> int | None:
        """maxTokens of the node's last call; None if it had no limit, or there was none."""
        return self._budgets.get((partition, node_id))

    def reset(self, partition: str | None = None) -> None:
        """Forget programs, turns, budgets and what was shown: of one partition, or all."""
        _delete_partition(self._last_media, partition)
        _delete_partition(self._queues, partition)
        _delete_partition(self._call_counts, partition)
        _delete_partition(self._budgets, partition)


def _seen_media(part: ModelMediaPart) -> SeenMedia:
    return SeenMedia(part.modality, part.media_type, part.size, part.sha256, part.media_ref)


def _delete_partition(kept: OrderedDict[Any, Any], partition: str | None) -> None:
    for place in list(kept):
        if partition is None or place[0] == partition:
            del kept[place]
