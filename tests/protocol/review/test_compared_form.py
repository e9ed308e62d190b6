"""What is the same in two runs although its text differs: their ids, ids made of them, asset tokens, and times."""

from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.envelopes.reassembly import derive_envelope_id
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.media.asset_references import AssetToken, encode_asset_token
from weftwork.protocol.review import compared_form
from weftwork.protocol.review.compared_form import ComparedForm, compared_run_ids
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Fork, Owner, RunHeader

A, B, SOURCE = "01m7f5zzhp2z8y1fpzhf93nsba", "01m7f5zzhp2z8y1fpzhf93nsbb", "01m7f5zzhp2z8y1fpzhf93nsbc"


def event(run_id: str, event_type: str, payload: Any) -> Event:
    return Event(run_id, 0, f"{run_id}-0", event_type, 1_000, encode_stored(payload), "n")


def header(run_id: str, fork: Fork | None = None) -> RunHeader:
    return RunHeader(run_id, "live:acme", Owner("acme", "key_1"), "w", "d", 1_000, fork=fork)


def asset_url(run_id: str, digest: int = 1, name: str = "") -> str:
    token = AssetToken("live:acme", bytes([digest]) * 32, run_id, "image/png", name)
    return f"http://host/v1/host/weftwork/assets/{encode_asset_token('kid', token, run_id.encode()[-1:] * 32)}"


def envelope(run_id: str, number: int = 0) -> dict[str, Any]:
    correlation_id = f"{run_id}:n:/0.0:{number}"
    return {"correlationId": correlation_id, "envelopeId": derive_envelope_id(correlation_id)}


@pytest.mark.rule("diff-02", "diff-05")
@each_case(
    "event_type, one, other, equal",
    ("acme.thing", {"x": {"runId": A}}, {"x": {"runId": B}}, True),
    ("acme.thing", {"x": f"the run {A}!"}, {"x": f"the run {B}!"}, True),
    ("acme.thing", {"x": A}, {"x": "another"}, False),
    ("acme.thing", {A: 1}, {B: 1}, True),
    ("weftwork.envelope.recorded", envelope(A), envelope(B), True),
    ("weftwork.envelope.recorded", envelope(A), envelope(B, 1), False),
    ("acme.thing", {"c": f"{A}:{'0' * 32}"}, {"c": f"{B}:{'1' * 32}"}, True),
    ("acme.thing", {"c": f"x:{'0' * 32}"}, {"c": f"x:{'1' * 32}"}, False),
    ("media.image", {"url": asset_url(A)}, {"url": asset_url(B)}, True),
    ("media.image", {"url": asset_url(A)}, {"url": asset_url(B, 2)}, False),
    ("media.image", {"url": asset_url(A, name='a"b')}, {"url": asset_url(B, name='a"c')}, False),
    (
        "conversation.opened",
        {"initialTurn": {"ts": 1, "content": "x"}},
        {"initialTurn": {"ts": 2, "content": "x"}},
        True,
    ),
    (
        "conversation.opened",
        {"initialTurn": {"ts": 1, "content": "x"}},
        {"initialTurn": {"ts": 1, "content": "y"}},
        False,
    ),
    ("acme.thing", {"initialTurn": {"ts": 1}}, {"initialTurn": {"ts": 2}}, False),
    ("node.retried", {"attempt": 2, "delayMs": 7}, {"attempt": 2, "delayMs": 9}, True),
    ("acme.thing", {"delayMs": 7}, {"delayMs": 9}, False),
    ("weftwork.provider.waiting", {"retryAt": "1"}, {"retryAt": "2"}, True),
)
def test_what_must_differ_between_two_runs_is_not_compared(event_type: str, one: Any, other: Any, equal: bool) -> None:
    form = ComparedForm((A, B))
    assert form.is_same_event(event(A, event_type, one), event(B, event_type, other)) is equal


@pytest.mark.rule("diff-05")
@fails_without(compared_form, "compared_run_ids", lambda *headers: frozenset(each.run_id for each in headers))
def test_the_ids_of_sources_count_as_the_ids_of_their_forks() -> None:
    made = compared_form.compared_run_ids(header(A, Fork(SOURCE, 3, "branch")), header(SOURCE))
    assert made == {A, SOURCE}
    made = compared_form.compared_run_ids(
        header(A, Fork(SOURCE, 3, "branch")), header(B, Fork("x" * 26, 3, "replay", 9, SOURCE))
    )
    assert made == {A, B, SOURCE, "x" * 26}
    # One event with the id from the prefix that was copied, and the id of the fork itself.
    one, other = {"old": SOURCE, "new": A}, {"old": SOURCE, "new": SOURCE}
    form = ComparedForm(compared_form.compared_run_ids(header(A, Fork(SOURCE, 3, "branch")), header(B)))
    assert form.is_same_event(event(A, "acme.thing", one), event(B, "acme.thing", other))


@pytest.mark.rule("diff-05")
def test_channels_are_compared_without_the_times_of_their_entries_and_in_any_order() -> None:
    form = ComparedForm()
    one, other = ([{"value": each, "_ts": at}, 2] for each, at in (("x", 1), ("x", 5)))
    assert form.channel(encode_stored(one)) == form.channel(encode_stored(other))
    assert form.channel(encode_stored([1, 2])) != form.channel(encode_stored([2, 1]))
    assert form.channel_items(encode_stored([1, 2])) == form.channel_items(encode_stored([2, 1]))
    assert form.channel_items(encode_stored([1, 2])) != form.channel_items(encode_stored([1, 2, 2]))
    assert form.channel_items(b"7") == b"7.0"
    assert compared_run_ids(header(A)) == {A}
