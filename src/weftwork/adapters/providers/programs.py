"""Programs: what the scripted provider is to say to single nodes, call by call; and how much it was to say."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec

from weftwork.adapters.providers.script import SILENCE, Entry, Script, entry_of
from weftwork.ports.models import ModelMediaPart, ModelRequest
from weftwork.protocol.media.message_parts import Modality

MOST_NODES: Final = 1024
"""Nodes that are remembered; beyond that the one that was longest out of use is forgotten."""
BYTES_KEPT: Final = 16 * 2**20
"""Of programs, as they were when they were written; the one that was longest out of use goes first."""

_Node = tuple[str, str]
"""Partition and node id."""
_Place = TypeVar("_Place", bound=tuple[str, ...])
_Value = TypeVar("_Value")


class Seen(msgspec.Struct, frozen=True):
    """What a node has shown; not its bytes."""

    modality: Modality
    media_type: str
    bytes: int
    sha256: str
    media_ref: str | None


class Programs:
    """Shared by all who play from it. Nothing of a prompt is kept, but for what the media in it are."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script or Script()
        self._queues: OrderedDict[_Node, deque[Entry]] = OrderedDict()
        self._weights: dict[_Node, int] = {}
        self._turns: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        self._budgets: OrderedDict[_Node, int | None] = OrderedDict()
        self._shown: OrderedDict[_Node, tuple[Seen, ...]] = OrderedDict()

    def program(self, partition: str, node_id: str, entries: Iterable[Any]) -> int:
        """model-12 (host): what the node is told from now on, one entry per call; replaces what was left over.

        Returns how many there are. Raises msgspec.ValidationError, and then nothing has changed.
        """
        queue = deque(map(entry_of, entries))
        _put(self._queues, (partition, node_id), queue)
        self._weights[(partition, node_id)] = len(msgspec.json.encode(list(queue)))
        self._weights = {place: self._weights[place] for place in self._queues}
        while sum(self._weights.values()) > BYTES_KEPT and len(self._queues) > 1:
            del self._weights[self._queues.popitem(last=False)[0]]
        return len(queue)

    def take(self, request: ModelRequest) -> Entry:
        """What is said in this call: the next entry of the node's program, which is gone with it, or of the script."""
        node = (request.partition, request.node_id)
        _put(self._budgets, node, request.max_tokens)
        _put(self._shown, node, tuple(_seen(part) for message in request.messages for part in message.media))
        queue = self._queues.get(node)
        if queue is not None:
            return queue.popleft() if queue else SILENCE
        place = (request.partition, request.run_id, request.node_id)
        turn = self._turns.get(place, 0)
        _put(self._turns, place, turn + 1)
        return self._script.play(request, turn)

    def modalities(self, model: str) -> frozenset[Modality]:
        return self._script.taken(model)

    def last_shown(self, partition: str, node_id: str) -> tuple[Seen, ...]:
        """media-48 (host): the media of the node's last call, in their order."""
        return self._shown.get((partition, node_id), ())

    def last_budget(self, partition: str, node_id: str) -> int | None:
        """maxTokens of the node's last call; None if it had no limit, or there was none."""
        return self._budgets.get((partition, node_id))

    def reset(self, partition: str | None = None) -> None:
        """Forget programs, turns, budgets and what was shown: of one partition, or all."""
        _forget(self._shown, partition)
        _forget(self._queues, partition)
        _forget(self._turns, partition)
        _forget(self._budgets, partition)


def _seen(part: ModelMediaPart) -> Seen:
    return Seen(part.modality, part.media_type, part.size, part.sha256, part.media_ref)


def _put(kept: OrderedDict[_Place, _Value], place: _Place, value: _Value) -> None:
    kept[place] = value
    kept.move_to_end(place)
    if len(kept) > MOST_NODES:
        kept.popitem(last=False)


def _forget(kept: OrderedDict[_Place, _Value], partition: str | None) -> None:
    for place in list(kept):
        if partition is None or place[0] == partition:
            del kept[place]
