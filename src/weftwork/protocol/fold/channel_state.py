"""The value of a channel: a fold over its writes, one pure step per write, in the order of the log.

Theory of operation. Writes of parallel branches may be in the log in any order, and the value of the channel must not
depend on it. Each write therefore has a stamp (iteration, topological index, node id). If two writes compete for the
whole value, for a member, for a user's vote or for a place among the last n entries, the greater stamp wins. Equal
stamps belong to one node, whose writes are applied in the order of the log. A list contains the same entries for every
order of the writes, but the sequence of its entries is that of the log. Counters are summed exactly, so that a sum does
not depend on the order either.
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
"""(iteration, topological index, node id). A write that depends on another write never has a smaller stamp."""

_BEFORE_ALL_WRITES: Final[Stamp] = (-1, -1, "")
"""The stamp of values from before the first write, such as a default."""
_WHOLE_VALUE: Final = ""
_UNITS: Final = 2**1074
_Key = Callable[[Any], str | None]


class ChannelState(msgspec.Struct, frozen=True):
    """The value of a channel for readers, and the data that the next write needs.

    stamps: by member for `merge`, by user for `votes`, by id for `message`, one for the whole value for `replace`.
    entry_stamps: the stamp of each entry of a list.
    oldest_at: a lower bound of the times of all entries; None if it is not known.
    remainder: the difference between the exact sum of a counter and `value`, as summands, largest first.
    """

    value: Any
    stamps: dict[str, Stamp] = {}
    entry_stamps: list[Stamp] = []
    oldest_at: int | None = None
    remainder: tuple[float, ...] = ()


def initial_channel(channel: Channel | None) -> ChannelState | None:
    """The state before the first write: the declared default, or None."""
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

    `at` is the time of the event, in milliseconds. Does not modify its arguments and never fails: a value of the wrong
    shape changes nothing, and a state of another reducer that this reducer cannot continue counts as empty.
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
    current: dict[str, Any] = state.value if is_object(state.value) else {}
    newer = {name: member for name, member in value.items() if stamp >= state.stamps.get(name, _BEFORE_ALL_WRITES)}
    return ChannelState({**current, **newer}, {**state.stamps, **dict.fromkeys(newer, stamp)})


def _add_to_counter(state: ChannelState, value: Any, stamp: Stamp) -> ChannelState:
    del stamp  # The order of summands does not matter.
    start = state.value if isinstance(state.value, int | float) and isfinite(state.value) else 0
    total = _exact(value) + sum(map(_exact, (start, *state.remainder)))
    nearest = total / _UNITS
    shown = int(nearest) if nearest.is_integer() and abs(nearest) <= MAX_INTEGER else nearest
    remainder: list[float] = []
    missing = total - _exact(shown)
    while missing:
        remainder.append(missing / _UNITS)
        missing -= _exact(remainder[-1])
    return ChannelState(shown, remainder=tuple(remainder))


def _exact(number: float) -> int:
    """A number as a multiple of the smallest positive double, 2^-1074."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (_UNITS // denominator)


_REDUCERS: Final[dict[str, Callable[[ChannelState, Any, Stamp], ChannelState]]] = {
    "replace": _replace,
    "merge": _merge,
    "counter": _add_to_counter,
}


class _ListEdit:
    """A copy of the entries of a list, to which one write is applied."""

    def __init__(self, state: ChannelState, key: _Key | None) -> None:
        self.entries: list[Any] = list(state.value) if is_array(state.value) else []
        self.order: list[Stamp] = list(state.entry_stamps)
        if len(self.order) != len(self.entries):  # a default, or a value of another reducer
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
            entry = self.entries.pop(index)
            del self.order[index]
            if self.key is not None:
                self.stamps.pop(self.key(_entry_value(entry)) or "", None)

    def prune(self, limit: int, now: int) -> int:
        """Drops the entries from before `limit` and returns the earliest remaining time."""
        expired: list[int] = []
        oldest = now
        for index, entry in enumerate(self.entries):
            if not _is_timed(entry):  # written without a time, so it does not expire
                continue
            time: int = entry["_ts"]
            if time < limit:
                expired.append(index)
            elif time < oldest:
                oldest = time
        self.drop(expired)
        return oldest


def _add_to_list(
    state: ChannelState, reducer: str, value: Any, at: int, stamp: Stamp, ttl_ms: int | None, max_size: int | None
) -> ChannelState:
    edit = _ListEdit(state, ENTRY_KEYS.get(reducer))
    entry, oldest = value, None
    if ttl_ms is not None:
        entry, oldest = {"value": value, "_ts": at}, state.oldest_at
        if oldest is None or oldest < at - ttl_ms:
            oldest = edit.prune(at - ttl_ms, at)
        oldest = min(oldest, at)
    if edit.key is None:
        edit.append(entry, stamp)
    else:
        _add_once(edit, edit.key, reducer, edit.key(value) or "", entry, stamp)
    excess = 0 if max_size is None else len(edit.entries) - max_size
    if excess > 0:
        # Drop the smallest stamps; of equal stamps, the earliest in the log.
        edit.drop(nsmallest(excess, range(len(edit.order)), key=edit.order.__getitem__))
    return ChannelState(edit.entries, edit.stamps, edit.order, oldest)


def _add_once(edit: _ListEdit, key: _Key, reducer: str, own: str, entry: Any, stamp: Stamp) -> None:
    """Adds an entry of which there is one per key: the latest vote of a user, moved to the end, or the first message
    with an id."""
    before = edit.stamps.get(own)
    if before is not None and (stamp < before) == (reducer == "votes"):
        return
    if before is None:
        edit.append(entry, stamp)
    elif reducer == "votes":
        edit.drop([edit.find(key, own)])
        edit.append(entry, stamp)
    else:
        index = edit.find(key, own)
        edit.entries[index], edit.order[index] = entry, stamp
    edit.stamps[own] = stamp


def _entry_value(entry: Any) -> Any:
    return entry["value"] if _is_timed(entry) else entry


def _is_timed(entry: Any) -> bool:
    return is_object(entry) and len(entry) == 2 and "value" in entry and isinstance(entry.get("_ts"), int)
