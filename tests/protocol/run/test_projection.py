"""Snapshots and summaries: they fit their schemas and say what the run was created with."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count, header_of, node, plan_of, workflow
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun, run_snapshot, run_summary
from weftwork.protocol.timestamps import iso

PLAN = plan_of(workflow([node("a")]))
VALUES = st.dictionaries(st.text("ab", min_size=1, max_size=2), st.integers() | st.text(max_size=3), max_size=3)


def plain(document: dict[str, Any]) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(document))


@st.composite
def stored_runs(draw: st.DrawFn) -> StoredRun:
    status: Status = draw(st.sampled_from(STATUSES))
    started = draw(st.none() | st.integers(0, 10**12))
    error = encode_stored({"code": "x", "message": "y", "details": draw(VALUES)}) if status == "failed" else None
    projection = Projection(
        status=status,
        last_sequence=draw(st.integers(-1, 9)),
        started_at=started,
        completed_at=(started or 0) + 1 if status in TERMINAL_STATUSES else None,
        current_node=draw(st.none() | st.just("a")),
        error=error,
    )
    rows = [StateRow("variable", name, encode_stored(value)) for name, value in draw(VALUES).items()]
    rows += [StateRow("node", "a", encode_stored({"status": "running", "attempt": 1}))]
    rows += [StateRow("channel", "c", b"[1]")] * draw(st.integers(0, 1))
    header = header_of(
        PLAN,
        inputs=draw(VALUES),
        configurable=draw(VALUES),
        metadata=draw(VALUES),
        tags=tuple(draw(st.lists(st.text("ab", min_size=1), max_size=3))),
    )
    return StoredRun(header, projection, tuple(rows))


@pytest.mark.rule("run-06")
@settings(max_examples=example_count(150), deadline=None)
@given(stored_runs())
def test_a_snapshot_fits_its_schema_and_echoes_what_was_given(run: StoredRun) -> None:
    document = plain(run_snapshot(run))
    assert schema.check("run-snapshot", document) == []
    header = run.header
    assert (document["tags"], document["metadata"]) == (list(header.tags), header.metadata)
    assert (document["configurable"], document["inputs"]) == (header.configurable, header.inputs)
    assert document["owner"] == {"tenant": "acme", "principal": "key_1"}
    assert document["variables"] == {
        row.name: json.loads(row.value)
        for row in sorted(run.rows, key=lambda row: row.kind)
        if row.kind in ("channel", "variable")
    }
    assert document["nodeStates"] == {"a": {"status": "running", "attempt": 1}}
    assert document.get("channels") == ({"c": [1]} if any(row.kind == "channel" for row in run.rows) else None)
    assert (document["engineVersion"], document["eventLogSchemaVersion"]) == ("1", 2)


@pytest.mark.rule("run-05")
@settings(max_examples=example_count(150), deadline=None)
@given(stored_runs())
def test_a_summary_leaves_out_what_the_run_does_not_have(run: StoredRun) -> None:
    document = plain(run_summary(run))
    assert schema.check("run-list", {"runs": [document]}) == []
    assert None not in document.values()
    projection = run.projection
    optional = {
        "startedAt": None if projection.started_at is None else iso(projection.started_at),
        "completedAt": None if projection.completed_at is None else iso(projection.completed_at),
        "currentNodeId": projection.current_node,
        "error": None if projection.error is None else json.loads(projection.error),
    }
    assert document == {
        "runId": "run-1",
        "workflowId": "sample",
        "status": projection.status,
        "createdAt": iso(run.header.created_at),
        "tags": list(run.header.tags),
    } | {name: value for name, value in optional.items() if value is not None}
    assert plain(run_snapshot(run)).items() >= document.items()
