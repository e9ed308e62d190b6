"""Channels and parallel branches: for every order of arrival the same outcome, by the stamps of the writes."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.protocol.fold.channel_writes import STAMPS, VALUES, Write, comparable_value, fold, stamp_of
from weftwork.protocol.fold import channel_state
from weftwork.protocol.fold.channel_state import ChannelState, Stamp
from weftwork.protocol.workflow.channels import EXPIRING_REDUCERS, LIST_REDUCERS, REDUCERS


@st.composite
def interleaved(draw: st.DrawFn, reducer: str) -> tuple[list[Write], list[Write]]:
    """Writes of several nodes in two orders of arrival; each node's own writes keep theirs."""
    stamps = draw(st.lists(STAMPS, min_size=1, max_size=8))
    written: dict[Stamp, list[Any]] = {}
    for stamp in stamps:
        written.setdefault(stamp, []).append(draw(VALUES[reducer]))

    def arrival(order: list[Stamp]) -> list[Write]:
        left = {stamp: iter(values) for stamp, values in written.items()}
        return [(stamp, next(left[stamp])) for stamp in order]

    return arrival(stamps), arrival(draw(st.permutations(stamps)))


@pytest.mark.rule("chan-09")
@pytest.mark.parametrize("reducer", REDUCERS)
def test_the_order_of_arrival_makes_no_difference(reducer: str) -> None:
    bounds = st.none() | st.integers(1, 4) if reducer in LIST_REDUCERS - {"message"} else st.none()
    ttl = st.none() | st.just(1) if reducer in EXPIRING_REDUCERS else st.none()

    @settings(max_examples=example_count(100), deadline=None)
    @given(interleaved(reducer), bounds, ttl)
    def check(orders: tuple[list[Write], list[Write]], max_size: int | None, ttl_ms: int | None) -> None:
        first, second = (fold(order, reducer, max_size=max_size, ttl_ms=ttl_ms) for order in orders)
        assert comparable_value(first) == comparable_value(second)

    check()


@settings(max_examples=example_count(100), deadline=None)
@given(st.permutations(range(6)), st.integers(1, 4))
def test_the_last_messages_are_kept_whatever_the_order_of_arrival(order: list[int], max_size: int) -> None:
    writes = [((0, i, "n"), {"messageId": str(i), "role": "user", "content": i}) for i in order]
    kept = {entry["content"] for entry in fold(writes, "message", max_size=max_size).value}
    assert kept == set(range(6 - max_size, 6))


CONTESTED: dict[str, tuple[list[Write], int | None, Any]] = {
    "replace": ([*stamp_of("a", 1), *stamp_of("b", 2), *stamp_of("a", 3, index=1)], None, 3),
    "merge": ([*stamp_of("a", {"x": 1, "y": 1}), *stamp_of("b", {"x": 2})], None, {"x": 2, "y": 1}),
    "counter": ([*stamp_of("a", 0.1), *stamp_of("b", 0.2), *stamp_of("c", 0.3)], None, 0.6),
    "votes": (
        [*stamp_of("a", {"userId": "u", "vote": 1}), *stamp_of("b", {"userId": "u", "vote": 2})],
        None,
        [{"userId": "u", "vote": 2}],
    ),
    "append": ([*stamp_of("a", 1), *stamp_of("b", 2), *stamp_of("c", 3)], 1, [3]),
    "message": (
        [
            *stamp_of("a", {"messageId": "m", "role": "user", "content": 1}),
            *stamp_of("b", {"messageId": "m", "role": "user", "content": 2}),
        ],
        None,
        [{"messageId": "m", "role": "user", "content": 1}],
    ),
}


def outcomes(reducer: str) -> set[bytes]:
    writes, max_size, _ = CONTESTED[reducer]
    return {comparable_value(fold(order, reducer, max_size=max_size)) for order in permutations(writes)}


@pytest.mark.rule("chan-09")
@pytest.mark.parametrize("reducer", CONTESTED)
def test_the_stamps_decide_a_contest(reducer: str) -> None:
    assert outcomes(reducer) == {comparable_value(ChannelState(CONTESTED[reducer][2]))}


@pytest.mark.parametrize("reducer", sorted(CONTESTED))
def test_without_stamps_the_order_of_arrival_would_decide(reducer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def last_to_arrive(state: ChannelState, value: Any, stamp: Stamp) -> ChannelState:
        return ChannelState({**(state.value or {}), **value} if reducer == "merge" else value)

    def rounded(state: ChannelState, value: Any, stamp: Stamp) -> ChannelState:
        return ChannelState((state.value or 0) + value)

    for name, step in {"replace": last_to_arrive, "merge": last_to_arrive, "counter": rounded}.items():
        monkeypatch.setitem(channel_state._REDUCERS, name, step)  # pyright: ignore[reportPrivateUsage]
    listed = channel_state._add_to_list  # pyright: ignore[reportPrivateUsage]

    def unstamped(state: ChannelState, reducer: str, value: Any, at: int, stamp: Stamp, *bounds: Any) -> ChannelState:
        return listed(state, reducer, value, at, (0, 0, ""), *bounds)

    monkeypatch.setattr(channel_state, "_add_to_list", unstamped)
    assert len(outcomes(reducer)) > 1
