"""Calls of the official client that several modules make: runs to their end, and refusals."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError
from openwop_client.types import ResolveInterruptRequest, RunEventDoc

from weftwork.protocol.json import schema


def ended(client: OpenwopClient, run_id: str, status: str) -> list[RunEventDoc]:
    """The log of a run that ends so; every event is checked on the way."""
    events = list(client.runs_events(run_id, stream_mode="debug"))
    for event in events:
        assert schema.check_payload(event.type, event.payload) == []
    assert events[-1].type == f"run.{status}", events[-1].payload
    assert client.runs_get(run_id).status == status
    return events


def completed(client: OpenwopClient, workflow: str, **members: Any) -> tuple[str, list[RunEventDoc]]:
    run_id = client.runs_create(CreateRunRequest(workflow, **members)).runId
    return run_id, ended(client, run_id, "completed")


def payloads(events: list[RunEventDoc], kind: str) -> list[dict[str, Any]]:
    return [each.payload for each in events if each.type == kind]


def answer(client: OpenwopClient, run_id: str, node_id: str, value: Any) -> str:
    """How the run stands after the answer."""
    resolved = client.interrupts_resolve_by_run(run_id, node_id, ResolveInterruptRequest(value))
    assert (resolved.runId, resolved.nodeId) == (run_id, node_id)
    return resolved.status


@contextlib.contextmanager
def refused(status: int, code: str, expected: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """A call that the host refuses so. What it yields holds the details of the error afterwards."""
    details: dict[str, Any] = {}
    with pytest.raises(WopError) as caught:
        yield details
    assert caught.value.envelope is not None, caught.value.raw_text
    assert (caught.value.status, caught.value.envelope.error) == (status, code)
    details.update(caught.value.envelope.details or {})
    assert expected is None or details == expected
