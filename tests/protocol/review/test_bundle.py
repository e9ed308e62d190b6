"""Debug bundles: what is in them, what is not, and how large they are."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import FULL, for_all, header_of, node, plan_of, workflow
from tests.protocol.privacy.test_credential_patterns import BODY, CREDENTIALS
from weftwork.protocol.json import schema
from weftwork.protocol.review import bundle_masks, bundled_run, debug_bundle
from weftwork.protocol.review.bundled_run import BundledRun
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Event
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.run.projection import Projection, RowKind, StateRow, StoredRun, run_snapshot

PLAN = plan_of(workflow([node("a")]))
NOW = 1_790_000_000_000
STEP = 1 if FULL else 37
Written = tuple[str, dict[str, Any], str | None]


def story(nodes: int, text: str = "hello") -> list[Written]:
    """The events of a run whose nodes end one after the other."""
    found: list[Written] = [("run.started", {"workflowId": "sample", "inputs": {}}, None)]
    for at in range(nodes):
        name = f"n{at}"
        found.append(("node.started", {"nodeId": name, "typeId": "core.noop", "attempt": 1}, name))
        found.append(("log.appended", {"level": "info", "message": text}, name))
        found.append(("node.completed", {"nodeId": name, "outputs": {}}, name))
    return [*found, ("run.completed", {"outputs": {}}, None)]


def events_of(written: list[Written]) -> list[Event]:
    return [
        Event("run-1", at, f"event-{at:012}", kind, NOW + at, msgspec.json.encode(payload), name, content_trust=None)
        for at, (kind, payload, name) in enumerate(written)
    ]


def stored(last: int, status: Any = "completed", **more: Any) -> StoredRun:
    rows = (StateRow("node", "n0", b'{"status":"completed"}'), StateRow("variable", "v", b'"value"'))
    return StoredRun(header_of(PLAN, **more), Projection(status, last, NOW, NOW + last), rows)


def bundled(snapshot: dict[str, Any], cap: int = debug_bundle.MAX_BYTES, **more: Any) -> BundledRun:
    made = BundledRun(snapshot, debug_bundle.run_limit(cap))
    for part in made.parts():
        made.add(part, more.get("link"))
    return made


def write(
    events: list[Event], run: StoredRun | None = None, page: int = 7, **more: Any
) -> tuple[bytes, debug_bundle.DebugBundle]:
    """The document, made as the engine makes it."""
    run = run or stored(len(events) - 1)
    made = debug_bundle.DebugBundle(run, bundled(run_snapshot(run), **more), "0.1.0", NOW, **more)
    parts = [made.head]
    for at in range(0, len(events), page):
        if made.is_full:
            break
        parts.append(made.write_events(events[at : at + page]))
    return b"".join([*parts, made.tail()]), made


def read(body: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(body)
    assert schema.check("debug-bundle", document) == []
    if not document["truncated"]:
        assert document["metrics"]["eventCount"] == len(document["events"])
    assert document["bundleVersion"] == "1.0"
    assert (document["redactionApplied"], document["redactionMode"]) == (True, "mask")
    return document


@pytest.mark.rule("bundle-01")
@pytest.mark.parametrize("page", [1, 2, 256])
def test_a_bundle_holds_the_run_its_log_and_its_spans(page: int) -> None:
    events = events_of(story(3))
    document = read(write(events, page=page)[0])
    assert document["events"] == [json.loads(event.document) for event in events]
    assert document["host"] == {"name": "weftwork", "version": "0.1.0", "vendor": "weftwork"}
    assert document["run"]["status"] == document["run"]["hostStatus"] == "completed"
    assert document["run"]["endedAt"] == document["run"]["completedAt"]
    assert document["run"]["error"] is None
    assert document["run"]["variables"] == {"v": "value"}
    assert document["metrics"] == {"openwopCost": None, "nodeCount": 1, "eventCount": 11}
    assert document["truncated"] is False
    assert "truncatedReason" not in document
    assert [span["name"] for span in document["spans"]] == ["openwop.run", *["openwop.node.core.noop"] * 3]
    assert all(span["endedAt"] is not None for span in document["spans"])


def test_a_bundle_holds_the_events_of_its_snapshot_even_if_there_are_none() -> None:
    run = StoredRun(header_of(PLAN), Projection("pending"), ())
    document = read(write([], run)[0])
    assert (document["events"], document["run"]["endedAt"]) == ([], None)
    assert len(document["spans"]) == 1
    events = events_of(story(2))
    document = read(write(events, stored(3, "running"))[0])
    assert [event["sequence"] for event in document["events"]] == [0, 1, 2, 3]
    assert document["truncated"] is False


@pytest.mark.rule("bundle-03")
@each_case("status", *STATUSES)
def test_every_status_has_a_word_in_bundles(status: str) -> None:
    shown = bundled_run.bundle_run({"runId": "r", "workflowId": "w", "status": status})
    listed = schema.document("debug-bundle")["properties"]["run"]["properties"]["status"]["enum"]
    assert shown["status"] in listed
    assert shown["hostStatus"] == status
    assert (shown["status"] == status) == (status not in bundled_run.BUNDLE_STATUS)
    assert (
        schema.check(
            "debug-bundle", {**debug_bundle.unattached_bundle("r", [], [], "1", "2026-01-31T08:05:09Z"), "run": shown}
        )
        == []
    )


@pytest.mark.rule("bundle-04")
@each_case("count", 1, 2, 5, 40)
def test_a_bundle_is_cut_exactly_where_it_must_be(count: int) -> None:
    events = events_of(story(count, "x" * 50))
    whole, _ = write(events)
    assert write(events, cap=len(whole))[0] == whole
    for cap in [len(whole) - 1, *range(len(whole) - 2, max(len(whole) - 2000, 2000), -STEP)]:
        body, made = write(events, cap=cap)
        assert len(body) <= cap, "never larger than it may be"
        document = read(body)
        assert (document["truncated"], document["truncatedReason"]) == (True, debug_bundle.EVENTS_TRUNCATED)
        kept = len(document["events"])
        assert document["metrics"]["eventCount"] == len(events)
        assert document["events"] == [json.loads(event.document) for event in events[:kept]]
        assert made.is_full
        # One more would have been too much: with it, and what it says of itself, the bundle is larger than the cap.
        if kept + 1 < len(events):
            more, _ = write(events, most_events=kept + 1)
            assert len(more) > cap


@pytest.mark.rule("bundle-04")
@for_all(60, st.integers(0, 30), st.integers(4000, 30_000), st.integers(1, 40), st.none() | st.integers(1, 100))
def test_no_bundle_is_larger_than_its_cap(count: int, cap: int, page: int, most: int | None) -> None:
    events = events_of(story(count, "y" * 40))
    body, _ = write(events, page=page, cap=cap, most_events=most)
    document = read(body)
    assert len(body) <= cap
    assert document["events"] == [json.loads(event.document) for event in events[: len(document["events"])]]
    assert document["truncated"] == (len(document["events"]) < len(events))
    # Spans tell of no event that is not there.
    told = [span["attributes"].get("openwop.event_seq", -1) for span in document["spans"]]
    assert max(told) < len(document["events"])


def test_without_the_check_a_bundle_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_of(story(20))
    monkeypatch.setattr(debug_bundle.DebugBundle, "_footer", lambda self, cut: b"")
    run = bundled({"runId": "r", "workflowId": "w", "status": "completed"}, cap=3000)
    made = debug_bundle.DebugBundle(stored(len(events) - 1), run, "1", NOW, cap=3000)
    taken = made.write_events(events)
    assert len(made.head) + len(taken) + made._spans_size > 2900, "the end no longer fits"


@pytest.mark.rule("bundle-04", "bundle-09")
def test_max_events_lowers_the_bound() -> None:
    events = events_of(story(3))
    for most in range(1, len(events)):
        document = read(write(events, most_events=most)[0])
        assert (len(document["events"]), document["metrics"]["eventCount"]) == (most, len(events))
        assert (document["truncated"], document["truncatedReason"]) == (True, debug_bundle.EVENTS_TRUNCATED)
    for most in (len(events), len(events) + 1, 10**9):
        assert read(write(events, most_events=most)[0])["truncated"] is False


@pytest.mark.rule("bundle-04")
def test_a_run_that_is_too_large_loses_its_largest_members() -> None:
    events = events_of(story(2))
    run = stored(len(events) - 1, inputs={"big": "i " * 300_000}, metadata={"m": 1})
    run = msgspec.structs.replace(run, rows=(StateRow("variable", "v", msgspec.json.encode("v " * 4_500_000)),))
    body, _ = write(events, run)
    document = read(body)
    assert len(body) < debug_bundle.MAX_BYTES
    assert document["run"]["omitted"] == ["variables"]
    assert document["run"]["inputs"] == {"big": "i " * 300_000}
    assert (document["truncated"], document["truncatedReason"]) == (True, debug_bundle.RUN_TRUNCATED)
    assert len(document["events"]) == len(events)
    body, _ = write(events, run, cap=20_000)
    assert read(body)["run"]["omitted"] == ["variables", "inputs"]
    assert len(body) <= 20_000


NOTES = [msgspec.json.encode({"annotationId": f"a-{at}", "note": "n" * 200}) for at in range(40)]


@pytest.mark.rule("bundle-10", "bundle-04")
def test_annotations_are_bounded_count_against_the_cap_and_say_so() -> None:
    events = events_of(story(6))
    whole, _ = write(events, annotations=NOTES)
    document = read(whole)
    assert [each["annotationId"] for each in document["annotations"]] == [f"a-{at}" for at in range(40)]
    assert "annotationsTruncated" not in document
    assert read(write(events, annotations=NOTES, more_annotations=True)[0])["annotationsTruncated"] is True
    for cap in range(4_000, len(whole), STEP):
        body, _ = write(events, annotations=NOTES, cap=cap)
        cut = read(body)
        assert len(body) <= cap
        assert cut["annotations"] == document["annotations"][: len(cut["annotations"])]
        assert cut.get("annotationsTruncated", False) == (len(cut["annotations"]) < 40)
        assert len(msgspec.json.encode(cut["annotations"])) <= cap // 8


@pytest.mark.rule("bundle-10", "bundle-02")
@fails_without(debug_bundle, "mask_document", lambda document, link: document, match=BODY)
def test_annotations_are_masked() -> None:
    notes = [msgspec.json.encode({"note": f"see {secret}"}) for secret in CREDENTIALS.values()]
    body, _ = write(events_of(story(1)), annotations=notes)
    assert BODY.encode() not in body
    assert len(read(body)["annotations"]) == len(CREDENTIALS)


def test_spans_are_bounded_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_bundle, "MAX_SPANS", 3)
    document = read(write(events_of(story(5)))[0])
    assert (len(document["spans"]), document["spansTruncated"]) == (3, True)
    assert document["truncated"] is False
    assert "spansTruncated" not in read(write(events_of(story(2)))[0])


def test_tokens_of_models_are_summed() -> None:
    written = story(1)
    usage = {"provider": "scripted", "model": "m", "inputTokens": 3, "outputTokens": 4, "credentialRef": "leak"}
    calls: list[Written] = [("provider.usage", usage, "n0")] * 2
    document = read(write(events_of([*written[:2], *calls, *written[2:]]))[0])
    assert document["metrics"]["openwopCost"] == {"tokens": {"input": 6, "output": 8}}
    attributes = document["spans"][1]["attributes"]
    assert {name: value for name, value in attributes.items() if name.startswith("openwop.cost.")} == {
        "openwop.cost.tokens.input": 6,
        "openwop.cost.tokens.output": 8,
        "openwop.cost.tokens.total": 14,
        "openwop.cost.provider": "scripted",
    }


def planted(secret: str) -> tuple[list[Event], StoredRun]:
    """A run that holds the text in every place that a caller can fill."""
    deep = {"list": [1, {secret: [secret, f"say {secret}"]}]}
    written = story(1, f"got {secret} there")
    recorded = {"nodeId": "n0", "correlationId": secret, "envelopeId": secret, "type": secret, "status": "accepted"}
    refusal = {"nodeId": "n0", "provider": "p", "model": "m", "refusalText": secret, "safetyCategory": secret}
    more: list[Written] = [
        ("variable.changed", {"name": secret, "next": deep}, "n0"),
        (ENVELOPE_RECORDED, {**recorded, "payload": deep}, "n0"),
        ("envelope.refusal", refusal, "n0"),
    ]
    events = events_of([*written[:2], *more, *written[2:]])
    for event in events:
        event.causation_id = secret
    run = stored(len(events) - 1, "failed", inputs=deep, metadata=deep, configurable=deep, tags=(secret,))
    held: list[tuple[RowKind, str]] = [("variable", secret), ("channel", secret), ("node", "n0"), ("artifact", secret)]
    rows = tuple(StateRow(kind, name, msgspec.json.encode(deep)) for kind, name in held)
    error = msgspec.json.encode({"code": "failed", "message": secret, "details": deep})
    projection = msgspec.structs.replace(run.projection, error=error, outputs=msgspec.json.encode(deep))
    return events, StoredRun(run.header, projection, rows)


@pytest.mark.rule("bundle-02")
@each_case("name", *CREDENTIALS)
def test_no_member_of_a_bundle_holds_a_credential(name: str) -> None:
    secret = CREDENTIALS[name]
    events, run = planted(secret)
    body, _ = write(events, run)
    document = read(body)
    assert BODY.encode() not in body
    assert json.dumps(secret)[1:-1] not in json.dumps(document, ensure_ascii=False)
    assert len(document["events"]) == len(events)
    assert [event["type"] for event in document["events"]] == [event.type for event in events]


def test_without_the_masking_it_would_be_in_every_member(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (debug_bundle, bundle_masks):
        monkeypatch.setattr(place, "may_hold_credential", lambda data: False)
    secret = CREDENTIALS["model key"]
    document = json.loads(write(*planted(secret))[0])
    for member in ("run", "events"):
        assert secret in json.dumps(document[member])
    for member in ("inputs", "variables", "metadata", "configurable", "error", "tags", "outputs", "artifacts"):
        assert secret in json.dumps(document["run"][member]), member
