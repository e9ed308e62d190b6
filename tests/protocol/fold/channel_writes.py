"""Writes to channels for tests: made, folded, and compared without regard to the sequence of a list."""

from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import strategies as st

from weftwork.protocol.fold.channel_state import ChannelState, Stamp, reduce_write
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import MAX_INTEGER

Write = tuple[Stamp, Any]
NOW = 1_700_000_000_000


def fold(
    writes: Iterable[Write],
    reducer: str,
    state: ChannelState | None = None,
    ttl_ms: int | None = None,
    max_size: int | None = None,
    at: Iterable[int] | None = None,
) -> ChannelState:
    times: Iterator[int] = iter(at) if at is not None else iter(lambda: NOW, None)
    for stamp, value in writes:
        state = reduce_write(
            state, reducer=reducer, value=value, at=next(times), stamp=stamp, ttl_ms=ttl_ms, max_size=max_size
        )
    assert state is not None
    return state


def stamp_of(node: str, *values: Any, index: int = 0) -> list[Write]:
    return [((0, index, node), value) for value in values]


def comparable_value(state: ChannelState) -> bytes:
    """The value as it is stored; a list without regard to its sequence."""
    value = state.value
    return b"|".join(sorted(map(encode_stored, value))) if isinstance(value, list) else encode_stored(value)


VOTES = st.fixed_dictionaries({"userId": st.sampled_from("abc"), "vote": st.integers(0, 9)})
ENTRIES = st.none() | st.integers(0, 3) | st.sampled_from(["", "x"]) | st.lists(st.integers(0, 1), max_size=1)
NUMBERS = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(-MAX_INTEGER, MAX_INTEGER) | st.sampled_from([0.1, 1e-300])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "replace": ENTRIES,
    "append": ENTRIES,
    "merge": st.dictionaries(st.sampled_from(["", "a", "b", "c"]), ENTRIES, max_size=3),
    "counter": NUMBERS,
    "votes": VOTES,
    "feedback": ENTRIES,
    "message": st.fixed_dictionaries(
        {"messageId": st.sampled_from("abc"), "role": st.just("user"), "content": st.integers(0, 9)}
    ),
}
STAMPS: st.SearchStrategy[Stamp] = st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("xyz"))
