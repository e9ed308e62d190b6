"""The test log: numbered, filtered, apart by tenant, and bounded."""

from typing import Any

import pytest

from weftwork.conformance.endpoints import test_log as module
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Draft
from weftwork.testing.deterministic import ManualClock, SequentialIds

ACME, OTHER = "live:acme", "live:other"


def log() -> module.TestLog:
    return module.TestLog(ManualClock(1_000), SequentialIds())


def said(kind: str = "log.appended", node_id: str | None = "n", cause: str | None = None, **payload: Any) -> Draft:
    given = payload or {"level": "info", "message": "hello"}
    return Draft(kind, given, node_id, cause, content_trust="untrusted")


def recorded(envelope_id: str) -> Draft:
    payload = {"nodeId": "n", "correlationId": "c", "envelopeId": envelope_id, "type": "error", "status": "accepted"}
    return said(ENVELOPE_RECORDED, "n", "c", **payload)


def test_events_are_documents_numbered_by_run() -> None:
    made = log()
    first = made.append(ACME, "run-a", [said(), said(cause="corr-1")])
    again = made.append(ACME, "run-a", [said()])
    other = made.append(ACME, "run-b", [said()])
    assert [event["sequence"] for event in (*first, *again, *other)] == [0, 1, 2, 0]
    assert len({event["eventId"] for event in (*first, *again, *other)}) == 4
    for event in first:
        assert schema.check("run-event", event) == []
    assert first[1]["causationId"] == "corr-1"
    assert first[1]["contentTrust"] == "untrusted"
    assert made.events(ACME, "run-a") == [*first, *again]


@pytest.mark.rule("seam-02")
def test_a_query_takes_what_it_names() -> None:
    made = log()
    drafts = [said(), said("cap.breached", "n", "c-1", limit=1), said(node_id=None, cause="c-1")]
    events = made.append(ACME, "run", drafts)
    query = module.EventQuery
    for wanted, found in (
        (query(), events),
        (query(type="cap.breached"), events[1:2]),
        (query(correlation_id="c-1"), events[1:]),
        (query(causation_id="c-1"), events[1:]),
        (query(node_id="n"), events[:2]),
        (query(type="log.appended", correlation_id="c-1"), events[2:]),
        (query(type="log.appended", node_id="m"), []),
    ):
        assert made.events(ACME, "run", wanted) == found


@pytest.mark.rule("seam-02")
def test_a_tenant_sees_its_own_and_nothing_is_no_error() -> None:
    made = log()
    made.append(ACME, "run", [recorded("env-1")])
    assert made.events(OTHER, "run") == made.spans(OTHER, "run") == made.spans(OTHER) == []
    assert made.events(ACME, "__probe__") == made.spans(ACME, "__probe__") == []
    (span,) = made.spans(ACME, "run")
    assert made.spans(ACME) == [span]
    assert (span["name"], span["attributes"]["envelope_id"]) == ("openwop.envelope", "env-1")
    assert span["attributes"]["envelope_content_trust"] == "untrusted"


@pytest.mark.rule("seam-03")
def test_a_reset_forgets_everything_of_a_tenant() -> None:
    made = log()
    made.append(ACME, "run", [recorded("env-1")])
    made.reset("other")
    assert len(made.spans(ACME)) == 1
    made.reset(ACME)
    assert made.events(ACME, "run") == made.spans(ACME) == []
    assert [event["sequence"] for event in made.append(ACME, "run", [said()])] == [0]


def test_it_is_bounded_in_runs_events_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RUNS", 3)
    monkeypatch.setattr(module, "MAX_EVENTS_PER_RUN", 5)
    made = log()
    for at in range(4):
        made.append(ACME, f"run-{at}", [said()] * 7)
    assert [len(made.events(ACME, f"run-{at}")) for at in range(4)] == [0, 5, 5, 5]
    assert [event["sequence"] for event in made.events(ACME, "run-3")] == [2, 3, 4, 5, 6]
    # Numbers go on where they were, as long as the run is known.
    assert made.append(ACME, "run-3", [said()])[0]["sequence"] == 7
    monkeypatch.setattr(module, "MAX_BYTES", 3_000)
    made.append(ACME, "run-4", [said(text="x" * 4_000)])
    assert [len(made.events(ACME, f"run-{at}")) for at in range(5)] == [0, 0, 0, 0, 1]
    made.append(ACME, "run-4", [said(text="x")])
    assert len(made.events(ACME, "run-4")) == 1
    assert made._size == sum(event.size for events in made._runs.values() for event in events)
    assert set(made._next) == set(made._runs)
