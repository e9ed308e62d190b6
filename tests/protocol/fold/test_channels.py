"""Channels: what writes add up to by each reducer, and the same outcome for every order of arrival."""

import copy
import json
from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, present
from tests.harness.definitions import example_count, for_all
from weftwork.protocol.fold import channel_state
from weftwork.protocol.fold.channel_state import ChannelState, Stamp, initial_channel, reduce_write
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.workflow.channels import EXPIRING_REDUCERS, LIST_REDUCERS, REDUCERS, Channel

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
    return present(state)


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


@each_case("reducer", *REDUCERS)
def test_arguments_are_left_alone(reducer: str) -> None:
    @for_all(50, st.lists(st.tuples(STAMPS, VALUES[reducer]), max_size=6), st.none() | st.integers(1, 3))
    def check(writes: list[Write], max_size: int | None) -> None:
        kept = copy.deepcopy(writes)
        state: ChannelState | None = None
        for stamp, value in writes:
            before = copy.deepcopy(state)
            after = reduce_write(state, reducer=reducer, value=value, at=NOW, stamp=stamp, ttl_ms=5, max_size=max_size)
            assert state == before
            state = after
        assert encode_stored(writes) == encode_stored(kept)

    check()


@pytest.mark.rule("chan-09")
@each_case("reducer", *REDUCERS)
def test_a_stored_state_goes_on_as_if_it_had_never_been_stored(reducer: str) -> None:
    @for_all(50, st.lists(st.tuples(STAMPS, VALUES[reducer]), min_size=2, max_size=8), st.data())
    def check(writes: list[Write], data: st.DataObject) -> None:
        cut = data.draw(st.integers(1, len(writes) - 1))
        max_size = data.draw(st.none() | st.integers(1, 4))
        at = sorted(data.draw(st.lists(st.integers(0, 9), min_size=len(writes), max_size=len(writes))))
        whole = fold(writes, reducer, at=at, ttl_ms=3, max_size=max_size)
        half = fold(writes[:cut], reducer, at=at[:cut], ttl_ms=3, max_size=max_size)
        read = msgspec.json.decode(msgspec.json.encode(half), type=ChannelState)
        assert read == half
        rest = fold(writes[cut:], reducer, read, at=at[cut:], ttl_ms=3, max_size=max_size)
        assert rest == whole
        assert encode_stored(rest.value) == encode_stored(whole.value)

    check()


@pytest.mark.rule("chan-09")
@for_all(100, st.lists(st.integers(-MAX_INTEGER, MAX_INTEGER), min_size=1))
def test_whole_numbers_are_counted_exactly(values: list[int]) -> None:
    state = fold(stamp_of("a", *values), "counter")
    total = sum(values)
    if abs(total) <= MAX_INTEGER:
        assert type(state.value) is int
        assert state.value == total
    back = fold(stamp_of("a", *(-value for value in values)), "counter", state)
    assert (back.value, type(back.value), back.remainder) == (0, int, ())


@each_case(
    "values, total",
    ([], 7),
    ([1, 2], 10),
    ([0.5, 0.5], 8),
    ([0.1] * 10, 8),
    ([1e-300], 7),
    ([1e-300, -7], 1e-300),
    ([MAX_INTEGER, 1], 9007199254740999.0),
    ([MAX_INTEGER, 1, -MAX_INTEGER], 8),
    ([0.1, 0.2, -0.3], 7),
)
def test_sums(values: list[Any], total: Any) -> None:
    state = fold(stamp_of("a", *values), "counter", ChannelState(7)) if values else ChannelState(7)
    assert encode_stored(state.value) == encode_stored(total)


def entry(value: Any, ts: int) -> dict[str, Any]:
    return {"value": value, "_ts": ts}


@pytest.mark.rule("chan-09")
@each_case("age, stays", (199, True), (200, True), (201, False), (0, True), (-5, True))
@each_case("reducer", *sorted(EXPIRING_REDUCERS))
def test_an_entry_stays_until_it_is_older_than_its_time(reducer: str, age: int, stays: bool) -> None:
    old, new = {"userId": "a"}, {"userId": "b"}
    state = fold([*stamp_of("a", old), *stamp_of("b", new)], reducer, ttl_ms=200, at=[NOW - age, NOW])
    assert state.value == [*([entry(old, NOW - age)] if stays else []), entry(new, NOW)]


def test_a_boundary_that_is_off_by_one_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = channel_state._add_to_list  # pyright: ignore[reportPrivateUsage]

    def too_eager(state: ChannelState, reducer: str, value: Any, at: int, stamp: Stamp, *bounds: int) -> ChannelState:
        return listed(state, reducer, value, at, stamp, bounds[0] - 1, bounds[1])

    monkeypatch.setattr(channel_state, "_add_to_list", too_eager)  # sabotage
    assert len(fold([*stamp_of("a", 1), *stamp_of("b", 2)], "append", ttl_ms=200, at=[NOW - 200, NOW]).value) == 1


@for_all(100, st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), min_size=1, max_size=12))
def test_what_is_remembered_of_times_never_hides_an_old_entry(steps: list[tuple[int, int]]) -> None:
    """Clocks may go back, and undeclared channels may be written with another time to live each."""
    state: ChannelState | None = None
    model: list[int] = []
    for at, ttl_ms in steps:
        state = fold(stamp_of("a", at), "append", state, ttl_ms=ttl_ms, at=[at])
        model = [*(time for time in model if time >= at - ttl_ms), at]
        assert [each["_ts"] for each in state.value] == model


@each_case("reducer", *sorted(set(REDUCERS) - EXPIRING_REDUCERS))
def test_other_reducers_know_no_time(reducer: str) -> None:
    value = {"replace": 1, "merge": {"a": 1}, "counter": 1, "message": {"messageId": "m", "role": "tool", "content": 1}}
    state = fold(stamp_of("a", value[reducer]), reducer, ttl_ms=5)
    assert state.value == ([value["message"]] if reducer == "message" else value[reducer])


@for_all(
    100,
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=12),
    st.integers(1, 6),
    st.none() | st.integers(1, 4),
)
def test_entries_expire_and_then_the_oldest_go(steps: list[tuple[int, int]], ttl_ms: int, max_size: int | None) -> None:
    state: ChannelState | None = None
    model: list[dict[str, Any]] = []
    now = 0
    for wait, value in steps:
        now += wait
        state = fold(stamp_of("a", value), "append", state, ttl_ms=ttl_ms, max_size=max_size, at=[now])
        model = [*(each for each in model if each["_ts"] >= now - ttl_ms), entry(value, now)]
        model = model[-max_size:] if max_size else model
        assert state.value == model


def test_a_wait_longer_than_the_time_empties_the_channel_with_the_next_write() -> None:
    at = [NOW, NOW + 1, NOW + 2, NOW + 303]
    writes = [write for index, name in enumerate("abcd") for write in stamp_of(f"write-{name}", name, index=index)]
    assert fold(writes, "append", ttl_ms=200, at=at).value == [entry("d", NOW + 303)]


def test_a_vote_replaces_the_one_before_whichever_reducer_left_it() -> None:
    votes = [{"userId": "a", "vote": 1}, {"userId": "b", "vote": 1}, {"voter": "a", "vote": 2}]
    assert fold(stamp_of("n", *votes), "votes").value == votes[1:]
    assert fold(stamp_of("n", *votes), "votes", ttl_ms=9).value == [entry(vote, NOW) for vote in votes[1:]]
    before = fold(stamp_of("n", [{"userId": "a", "vote": 1}]), "replace")
    assert fold(stamp_of("n", {"userId": "a", "vote": 2}), "votes", before).value == [{"userId": "a", "vote": 2}]
    before = fold(stamp_of("n", {"userId": "a", "vote": 1}, "note"), "append")
    assert fold(stamp_of("n", {"userId": "a", "vote": 2}), "votes", before).value == [
        "note",
        {"userId": "a", "vote": 2},
    ]


def test_a_message_is_there_once() -> None:
    messages = [{"messageId": f"msg-{i}", "role": "user", "content": i} for i in (1, 2, 2)]
    again = {**messages[0], "content": "changed"}
    assert fold(stamp_of("n", *messages, again), "message").value == messages[:2]


def test_a_default_is_older_than_every_write() -> None:
    start = initial_channel(Channel("c", "append", has_default=True, default=["x", "y"]))
    assert fold(stamp_of("n", 1), "append", start).value == ["x", "y", 1]
    assert fold(stamp_of("n", 1), "append", start, max_size=2).value == ["y", 1]
    assert initial_channel(None) is None
    assert initial_channel(Channel("c", "append")) is None
    for reducer, default, value, result in (
        ("replace", 1, None, None),
        ("merge", {"a": 1, "b": 1}, {"a": 2}, {"a": 2, "b": 1}),
        ("counter", 5, -6, -1),
    ):
        assert (
            fold(stamp_of("n", value), reducer, initial_channel(Channel("c", reducer, None, True, default))).value
            == result
        )


@settings(max_examples=example_count(50, 4_000), deadline=None)
@given(st.lists(st.tuples(STAMPS, st.sampled_from([*REDUCERS, "vendor.acme.sum"]), st.data()), max_size=6))
def test_no_mixture_of_reducers_and_values_breaks_the_fold(steps: list[tuple[Stamp, str, st.DataObject]]) -> None:
    state: ChannelState | None = None
    for stamp, reducer, data in steps:
        value = data.draw(st.one_of(*VALUES.values(), st.booleans(), st.floats(allow_nan=False)))
        bounds = data.draw(st.tuples(st.none() | st.integers(1, 3), st.none() | st.integers(1, 3)))
        state = reduce_write(
            state, reducer=reducer, value=value, at=NOW, stamp=stamp, ttl_ms=bounds[0], max_size=bounds[1]
        )
        json.loads(encode_stored(state.value))


@each_case(
    "reducer, value",
    ("merge", [1]),
    ("counter", True),
    ("counter", float("inf")),
    ("votes", {"vote": 1}),
    ("message", {"role": "user"}),
)
def test_a_value_of_the_wrong_shape_changes_nothing(reducer: str, value: Any) -> None:
    before = ChannelState([1])
    assert fold(stamp_of("n", value), reducer, before) == before


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
@each_case("reducer", *REDUCERS)
def test_the_order_of_arrival_makes_no_difference(reducer: str) -> None:
    bounds = st.none() | st.integers(1, 4) if reducer in LIST_REDUCERS - {"message"} else st.none()
    ttl = st.none() | st.just(1) if reducer in EXPIRING_REDUCERS else st.none()

    @for_all(100, interleaved(reducer), bounds, ttl)
    def check(orders: tuple[list[Write], list[Write]], max_size: int | None, ttl_ms: int | None) -> None:
        first, second = (fold(order, reducer, max_size=max_size, ttl_ms=ttl_ms) for order in orders)
        assert comparable_value(first) == comparable_value(second)

    check()


@for_all(100, st.permutations(range(6)), st.integers(1, 4))
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
@each_case("reducer", *CONTESTED)
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
