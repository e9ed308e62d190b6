"""What the writes to a channel add up to: one pure step per write, in the order of the log.

Theory. Parallel branches may be written down in any order, and their channels must come out the same. So a
write carries a stamp (iteration, topological index, node id), and wherever two writes compete (for the whole
value, for a member, for a user's vote, for a place among the last n entries) the stamps decide; equal stamps
are one node's own writes, whose order in the log is their order. A list as such keeps the order of the log: its
entries are the same for every order of arrival, their sequence need not be. Numbers are added without loss, so
that sums do not depend on the order either.
"""

from collections.abc import Callable
from heapq import nsmallest
from math import isfinite
from typing import Any, Final

import msgspec

from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.workflow.channels import ENTRY_KEYS, EXPIRING_REDUCERS, LIST_REDUCERS, Channel, shape_error

Stamp = tuple[int, int, str]
"""(iteration, topological index, node id). A write that can only happen after another never has a lesser one."""

_BEFORE_ALL_WRITES: Final[Stamp] = (-1, -1, "")
"""Of what was there before any write."""
_WHOLE_VALUE: Final = ""
_UNITS: Final = 2**1074
_Key = Callable[[Any], str | None]


class ChannelState(msgspec.Struct, frozen=True):
    """The value of a channel as readers see it, and what the next write needs in addition.

    stamps: by member for `merge`, by user for `votes`, by id for `message`, one for the whole value for `replace`.
    entry_stamps: the stamp of each entry of a list.
    oldest_at: no entry has an earlier time; None if that is not known.
    remainder: what the shown value of a counter leaves out of the exact sum, largest first.
    """

    value: Any
    stamps: dict[str, Stamp] = {}
    entry_stamps: list[Stamp] = []
    oldest_at: int | None = None
    remainder: tuple[float, ...] = ()


def initial_channel(channel: Channel | None) -> ChannelState | None:
    """The state before any write: the declared default, or none."""
    return ChannelState(channel.default) if channel is not None and channel.has_default else None


def reduce_write(
    state: ChannelState | None,
    *,
    reducer: str,
    value: Any,
    at: int,
    stamp: Stamp,
    ttl_ms: int | None,
    max_size: int | None,
) -> ChannelState:
    """chan-09 (OpenWOP channels-and-reducers, readings, Channels): the state after one more write.

    `at` is the time of the event, in milliseconds. Changes none of its arguments. Never fails: a value of the wrong
    shape changes nothing, and a state that another reducer made counts as empty if this one cannot go on from it.
    """
    before = ChannelState(None) if state is None else state
    if shape_error(reducer, value) is not None:
        return before
    if reducer in LIST_REDUCERS:
        return _add_to_list(
            before, reducer, value, at, stamp, ttl_ms if reducer in EXPIRING_REDUCERS else None, max_size
        )
    step = _REDUCERS.get(reducer, _replace)
    return step(before, value, stamp)


def _replace(state: ChannelState, value: Any, stamp: Stamp) -> ChannelState:
    if stamp < state.stamps.get(_WHOLE_VALUE, _BEFORE_ALL_WRITES):
        return state
    return ChannelState(value, {_WHOLE_VALUE: stamp})


def _merge(state: ChannelState, value: Any, stamp: Stamp) -> ChannelState:
    kept: dict[str, Any] = state.value if is_object(state.value) else {}
    newer = {name: member for name, member in value.items() if stamp >= state.stamps.get(name, _BEFORE_ALL_WRITES)}
    return ChannelState({**kept, **newer}, {**state.stamps, **dict.fromkeys(newer, stamp)})


def _add_to_counter(state: ChannelState, value: Any, stamp: Stamp) -> ChannelState:
    del stamp  # A sum has no order.
    start = state.value if isinstance(state.value, int | float) and isfinite(state.value) else 0
    total = _exact(value) + sum(map(_exact, (start, *state.remainder)))
    nearest = total / _UNITS
    shown = int(nearest) if nearest.is_integer() and abs(nearest) <= MAX_INTEGER else nearest
    rest: list[float] = []
    left = total - _exact(shown)
    while left:
        rest.append(left / _UNITS)
        left -= _exact(rest[-1])
    return ChannelState(shown, remainder=tuple(rest))


def _exact(number: float) -> int:
    """A number as a count of the smallest units that a double can hold."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (_UNITS // denominator)


_REDUCERS: Final[dict[str, Callable[[ChannelState, Any, Stamp], ChannelState]]] = {
    "replace": _replace,
    "merge": _merge,
    "counter": _add_to_counter,
}


class _ListEdit:
    """The entries of a list while a write is added to it, as copies."""

    def __init__(self, state: ChannelState, key: _Key | None) -> None:
        self.entries: list[Any] = list(state.value) if is_array(state.value) else []
        self.order: list[Stamp] = list(state.entry_stamps)
        if len(self.order) != len(self.entries):  # a default, or what another reducer made
            self.order = [_BEFORE_ALL_WRITES for _ in self.entries]
        self.key = key
        self.stamps: dict[str, Stamp] = {}
        if key is not None:
            self.stamps = dict(state.stamps)
            if len(self.stamps) != len(self.entries) or _WHOLE_VALUE in self.stamps:
                keys = [key(_entry_value(entry)) for entry in self.entries]
                self.stamps = {own: stamp for own, stamp in zip(keys, self.order, strict=True) if own is not None}

    def append(self, entry: Any, stamp: Stamp) -> None:
        self.entries.append(entry)
        self.order.append(stamp)

    def find(self, key: _Key, own: str) -> int:
        return next(index for index, entry in enumerate(self.entries) if key(_entry_value(entry)) == own)

    def drop(self, indices: list[int]) -> None:
        for index in sorted(indices, reverse=True):
            gone = self.entries.pop(index)
            del self.order[index]
            if self.key is not None:
                self.stamps.pop(self.key(_entry_value(gone)) or "", None)

    def prune(self, limit: int, now: int) -> int:
        """Drop what was written before `limit`; the earliest time that is left."""
        gone: list[int] = []
        oldest = now
        for index, entry in enumerate(self.entries):
            if not _is_timed(entry):  # written without a time, so it has no age
                continue
            time: int = entry["_ts"]
            if time < limit:
                gone.append(index)
            elif time < oldest:
                oldest = time
        self.drop(gone)
        return oldest


def _add_to_list(
    state: ChannelState, reducer: str, value: Any, at: int, stamp: Stamp, ttl_ms: int | None, max_size: int | None
) -> ChannelState:
    kept = _ListEdit(state, ENTRY_KEYS.get(reducer))
    entry, oldest = value, None
    if ttl_ms is not None:
        entry, oldest = {"value": value, "_ts": at}, state.oldest_at
        if oldest is None or oldest < at - ttl_ms:
            oldest = kept.prune(at - ttl_ms, at)
        oldest = min(oldest, at)
    if kept.key is None:
        kept.append(entry, stamp)
    else:
        _add_once(kept, kept.key, reducer, kept.key(value) or "", entry, stamp)
    excess = 0 if max_size is None else len(kept.entries) - max_size
    if excess > 0:
        # The least stamps go, and among equal ones the first in the log.
        kept.drop(nsmallest(excess, range(len(kept.order)), key=kept.order.__getitem__))
    return ChannelState(kept.entries, kept.stamps, kept.order, oldest)


def _add_once(kept: _ListEdit, key: _Key, reducer: str, own: str, entry: Any, stamp: Stamp) -> None:
    """One entry per key: of a user the latest vote, which moves to the end; of an id the first message."""
    before = kept.stamps.get(own)
    if before is not None and (stamp < before) == (reducer == "votes"):
        return
    if before is None:
        kept.append(entry, stamp)
    elif reducer == "votes":
        kept.drop([kept.find(key, own)])
        kept.append(entry, stamp)
    else:
        index = kept.find(key, own)
        kept.entries[index], kept.order[index] = entry, stamp
    kept.stamps[own] = stamp


def _entry_value(entry: Any) -> Any:
    return entry["value"] if _is_timed(entry) else entry


def _is_timed(entry: Any) -> bool:
    return is_object(entry) and len(entry) == 2 and "value" in entry and isinstance(entry.get("_ts"), int)
