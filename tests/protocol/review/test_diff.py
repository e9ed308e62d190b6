"""How two runs differ, by generated logs: nothing for equal ones, mirrored when turned round, enough to make b of a."""

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_canonical, encode_stored
from weftwork.protocol.review import compared_form
from weftwork.protocol.review import run_diff as module
from weftwork.protocol.review.compared_form import ComparedForm
from weftwork.protocol.review.run_diff import RunDiff, state_diff
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun

KINDS = ("run.started", "node.completed", "variable.changed", "acme.thing")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, -0.0, 1.0, 1.5])
    | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "runId", "writtenAt"]), inner),
    max_leaves=6,
)
PAYLOADS = st.dictionaries(st.sampled_from(["a", "b", "runId", "writtenAt"]), VALUES, max_size=3)
DRAFTS = st.tuples(st.sampled_from(KINDS), st.sampled_from([None, "n"]), PAYLOADS)
LOGS = st.lists(DRAFTS, max_size=6)
ROWS = st.dictionaries(
    st.tuples(st.sampled_from(["variable", "channel", "node"]), st.sampled_from(["x", "y/z", "~"])), VALUES, max_size=4
)
Log = list[tuple[str, str | None, dict[str, Any]]]


def event(run_id: str, sequence: int, kind: str, node_id: str | None, payload: Any) -> Event:
    """Whatever may differ between equal runs does."""
    cause = f"{run_id}-0" if run_id == "run-b" else None
    at = 1_000 + ord(run_id[-1])
    return Event(run_id, sequence, f"{run_id}-{sequence}", kind, at, encode_stored(payload), node_id, cause)


def events(run_id: str, log: Log) -> list[Event]:
    return [event(run_id, sequence, *draft) for sequence, draft in enumerate(log)]


def stored(run_id: str, last: int, status: Any = "completed", rows: Any = None, outputs: Any = None) -> StoredRun:
    header = RunHeader(run_id, "live:acme", Owner("acme", "key_1"), "w", "d", 1_000)
    made = [StateRow(kind, name, encode_stored(value)) for (kind, name), value in (rows or {}).items()]
    encoded = encode_stored(outputs) if outputs is not None else None
    return StoredRun(header, Projection(status, last, outputs=encoded), tuple(made))


def compared(one: Log, other: Log, ids: tuple[str, str] = ("run-a", "run-b"), statuses: Any = None) -> dict[str, Any]:
    logs = [events(run_id, log) for run_id, log in zip(ids, (one, other), strict=True)]
    runs = [
        stored(run_id, len(log) - 1, (statuses or {}).get(name, "completed"))
        for run_id, log, name in zip(ids, logs, ("a", "b"), strict=True)
    ]
    made = RunDiff(*runs)
    while made.has_next:
        at = made.next_sequence
        made.add(*(log[at] if at < len(log) else None for log in logs))
    document = json.loads(encode_stored(made.document()))
    assert schema.check("run-diff-response", document) == []
    return document


def lasting(document: dict[str, Any]) -> bytes:
    """The compared members of an event document, in canonical form."""
    payload = {name: value for name, value in document["payload"].items() if name not in ("runId", "writtenAt")}
    names = ("type", "nodeId", "schemaVersion", "engineVersion")
    return encode_canonical({**{name: document.get(name) for name in names}, "payload": payload})


@pytest.mark.rule("diff-01", "diff-02")
@for_all(100, LOGS)
def test_equal_logs_have_no_difference(log: Log) -> None:
    for ids in (("run-a", "run-a"), ("run-a", "run-b")):
        document = compared(log, log, ids)
        assert (document["divergedAtSeq"], document["eventDiffs"], document["stateDiff"]) == (None, [], {})
        assert (document["a"], document["b"], document["truncated"]) == (*ids, False)


@pytest.mark.rule("diff-01")
@for_all(100, LOGS, LOGS)
def test_turned_round_it_is_the_mirror_image(a: Log, b: Log) -> None:
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    one, other = compared(a, b), compared(b, a)
    assert one["divergedAtSeq"] == other["divergedAtSeq"]
    assert [(each["seq"], turned[each["op"]]) for each in one["eventDiffs"]] == [
        (each["seq"], each["op"]) for each in other["eventDiffs"]
    ]
    for mine, theirs in zip(one["eventDiffs"], other["eventDiffs"], strict=True):
        for name, turned_name in (("aEvent", "bEvent"), ("bEvent", "aEvent")):
            assert (name in mine) is (turned_name in theirs)
            if name in mine:
                assert lasting(mine[name]) == lasting(theirs[turned_name])


@pytest.mark.rule("diff-01")
@for_all(100, LOGS, LOGS)
def test_applied_to_one_log_it_makes_the_other(a: Log, b: Log) -> None:
    document = compared(a, b)
    documents = [[lasting(json.loads(each.document)) for each in events("run", log)] for log in (a, b)]
    made = dict(enumerate(documents[0]))
    for entry in document["eventDiffs"]:
        if entry["op"] == "removed":
            del made[entry["seq"]]
        else:
            assert made.get(entry["seq"]) != lasting(entry["bEvent"])
            made[entry["seq"]] = lasting(entry["bEvent"])
    assert made == dict(enumerate(documents[1]))
    assert document["divergedAtSeq"] == min((entry["seq"] for entry in document["eventDiffs"]), default=None)
    assert [entry["seq"] for entry in document["eventDiffs"]] == sorted({e["seq"] for e in document["eventDiffs"]})


@pytest.mark.rule("diff-02")
@for_all(150, DRAFTS, DRAFTS, full=6_000)
def test_events_are_the_same_when_their_canonical_forms_are(one: Any, other: Any) -> None:
    a, b = event("run-a", 0, *one), event("run-b", 0, *other)
    assert ComparedForm().is_same_event(a, b) is (lasting(json.loads(a.document)) == lasting(json.loads(b.document)))


@pytest.mark.rule("diff-02")
@each_case(
    "one, other, equal",
    ({"n": 1}, {"n": 1.0}, True),
    ({"n": 0}, {"n": -0.0}, True),
    ({"n": 1}, {"n": True}, False),
    ({"n": "1"}, {"n": 1}, False),
    ({"n": None}, {}, False),
    ({"runId": "run-a", "writtenAt": "now"}, {"runId": "run-b"}, True),
    ({"inner": {"runId": "run-a"}}, {"inner": {"runId": "run-b"}}, False),
    ({"childRunId": "run-a", "key": "0"}, {"childRunId": "run-b", "key": "0"}, True),
    ({"reason": "x", "parentRunId": "run-a"}, {"reason": "x"}, True),
    ({"outputs": {"childRunId": "run-a", "n": 1}}, {"outputs": {"childRunId": "run-b", "n": 1}}, True),
    ({"outputs": {"x": {"childRunId": "run-a"}}}, {"outputs": {"x": {"childRunId": "run-b"}}}, True),
    ({"outputs": {"x": [{"childRunId": "run-a"}]}}, {"outputs": {"x": [{"childRunId": "run-b"}]}}, True),
    ({"value": {"childRunId": "run-a"}}, {"value": {"childRunId": "run-b"}}, False),
    ({"outputs": {"childRunId": "run-a", "n": 1}}, {"outputs": {"childRunId": "run-b", "n": 2}}, False),
)
def test_what_counts_as_equal(one: Any, other: Any, equal: bool) -> None:
    pair = event("run-a", 0, "acme.thing", None, one), event("run-b", 0, "acme.thing", None, other)
    assert ComparedForm().is_same_event(*pair) is equal


@pytest.mark.rule("diff-02")
def test_without_leaving_ids_out_equal_runs_would_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    logs: list[Log] = [[("weftwork.child.status", "n", {"childRunId": name})] for name in ("child-1", "child-2")]
    assert compared(logs[0], logs[1])["eventDiffs"] == []
    monkeypatch.setattr(compared_form, "VOLATILE_MEMBERS", frozenset[str]())
    assert compared(logs[0], logs[1])["divergedAtSeq"] == 0


ONE: Log = [("run.started", None, {}), ("node.completed", "n", {}), ("run.completed", None, {})]


@pytest.mark.rule("diff-03")
@each_case(
    "a, b, statuses, ops",
    (3, 1, {}, {1: "removed", 2: "removed"}),
    (1, 3, {}, {1: "added", 2: "added"}),
    (3, 1, {"b": "running"}, {}),
    (1, 3, {"a": "waiting-input"}, {}),
    (3, 1, {"a": "running"}, {1: "removed", 2: "removed"}),
    (3, 2, {"a": "running", "b": "cancelling"}, {}),
    (3, 0, {"b": "pending"}, {}),
)
def test_what_a_live_run_lacks_may_still_come(a: int, b: int, statuses: dict[str, str], ops: dict[int, str]) -> None:
    document = compared(ONE[:a], ONE[:b], statuses=statuses)
    assert {entry["seq"]: entry["op"] for entry in document["eventDiffs"]} == ops
    assert document["truncated"] is bool(statuses)


@pytest.mark.rule("diff-03")
def test_events_beyond_the_bound_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    long: Log = [("acme.thing", None, {"n": n}) for n in range(9)]
    other: Log = [*long[:6], *ONE]
    assert compared(long, other)["divergedAtSeq"] == 6
    for most, found, cut in ((6, [], True), (7, [6], True), (9, [6, 7, 8], False)):
        monkeypatch.setattr(module, "MAX_COMPARED_EVENTS", most)
        document = compared(long, other)
        assert [entry["seq"] for entry in document["eventDiffs"]] == found
        assert document["truncated"] is cut


@pytest.mark.rule("diff-03")
def test_the_difference_that_reaches_the_bytes_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    a: Log = [("acme.thing", None, {"text": "a" * 1000})] * 9
    b: Log = [("acme.thing", None, {"text": "b" * 1000})] * 9
    weight = sum(log[0].size for log in (events("run-a", a), events("run-b", b)))
    for most, count in ((1, 1), (weight, 1), (weight + 1, 2), (9 * weight, 9)):
        monkeypatch.setattr(module, "MAX_EVENT_BYTES", most)
        document = compared(a, b)
        assert len(document["eventDiffs"]) == count
        assert document["truncated"] is (count < 9)


@pytest.mark.rule("diff-04")
@for_all(100, ROWS, ROWS, st.sampled_from(["completed", "failed"]), full=4_000)
def test_states_are_compared_by_pointer(one: Any, other: Any, status: str) -> None:
    found, cut = state_diff(stored("run-a", 0, "completed", one), stored("run-b", 0, status, other))
    assert not cut
    found = json.loads(encode_stored(found))
    expected: dict[str, Any] = {}
    if status != "completed":
        expected["/status"] = {"a": "completed", "b": status}
    for kind, name in one.keys() | other.keys():
        pair = {side: rows[kind, name] for side, rows in (("a", one), ("b", other)) if (kind, name) in rows}
        if kind != "node" and (len(pair) == 1 or encode_canonical(pair["a"]) != encode_canonical(pair["b"])):
            expected[f"/{kind}s/{name.replace('~', '~0').replace('/', '~1')}"] = pair
    assert encode_stored(found) == encode_stored(expected)


@pytest.mark.rule("diff-04")
def test_outputs_are_compared_by_node() -> None:
    one = stored("run-a", 0, outputs={"n": {"x": 1}, "m": {"x": 1}, "o": {}})
    other = stored("run-b", 0, outputs={"n": {"x": 1.0}, "m": {"x": 2}, "p": {}})
    found, cut = state_diff(one, other)
    assert not cut
    assert json.loads(encode_stored(found)) == {
        "/outputs/m": {"a": {"x": 1}, "b": {"x": 2}},
        "/outputs/o": {"a": {}},
        "/outputs/p": {"b": {}},
    }
    assert sorted(state_diff(stored("run-a", 0), one)[0]) == ["/outputs/m", "/outputs/n", "/outputs/o"]


@pytest.mark.rule("diff-04")
def test_a_value_that_does_not_fit_is_left_out_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STATE_BYTES", 1_000)
    large = {("variable", "large"): "x" * 990, ("variable", "small"): 1}
    one, other = stored("run-a", 0, rows=large), stored("run-b", 0, rows={("variable", "small"): 2})
    found, cut = state_diff(one, other)
    assert (sorted(found), cut) == (["/variables/small"], True)
    assert RunDiff(one, other).document()["truncated"] is True
    assert state_diff(one, one) == ({}, False), "what is equal costs nothing"
