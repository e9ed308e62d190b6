"""Kinds of the settings and of workflows, over HTTP: envelopes of them pass the gate, and elsewhere they do not."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.live import TEST_KEY, InProcessHost, open_in_process
from weftwork.protocol.envelopes import kinds
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS, UNIVERSAL_KINDS, KindDefinition, KindSet

STEPS = {"type": "object", "properties": {"steps": {"type": "array"}}, "required": ["steps"]}
GOOD, BAD = {"steps": ["sow", "reap"]}, {"step": "sow"}


@pytest.fixture
def files(tmp_path: Path) -> str:
    (tmp_path / "vendor.acme.plan.schema.json").write_text(json.dumps({**STEPS, "x-version": 2}))
    return str(tmp_path)


def wanting(kind: str, workflow_id: str = "sample", own: Any = None) -> dict[str, Any]:
    metadata = {"envelopeKinds": own} if own is not None else {}
    asks = node("ask", "core.ai.generateEnvelope", config={"envelopeType": kind, "userMessage": "A plan, please."})
    return workflow([asks], id=workflow_id, metadata=metadata)


async def ran(
    inside: InProcessHost, document: dict[str, Any], kind: str, payload: Any, version: int = 1
) -> list[dict[str, Any]]:
    """The events of a run in which the model sends one envelope, again and again."""
    registered = await inside.call("POST", "/v1/workflows", document, key=TEST_KEY)
    assert registered.status in (200, 201), registered.body
    said = json.dumps({"type": kind, "schemaVersion": version, "payload": payload})
    mock = {"id": "stream-text", "config": {"tokens": [said]}}
    body = {"workflowId": document["id"], "configurable": {"mockProvider": mock}}
    created = await inside.call("POST", "/v1/runs", body, key=TEST_KEY)
    assert created.status == 201, created.body
    events: list[dict[str, Any]] = []
    while not events or events[-1]["type"] not in ("run.completed", "run.failed"):
        path = f"/v1/runs/{created.document['runId']}/events/poll?timeout=5"
        events = (await inside.call("GET", path, key=TEST_KEY)).document["events"]
    return events


def result(events: list[dict[str, Any]]) -> Any:
    """The payload that came out, or the code of the failure."""
    last = events[-1]
    return last["payload"]["outputs"]["ask"]["payload"] if last["type"] == "run.completed" else failure(last)


def failure(event: dict[str, Any]) -> str:
    code: str = event["payload"]["error"]["code"]
    return code


def told(test: Any, **settings: Any) -> None:
    async def story() -> None:
        async with open_in_process(**settings) as inside:
            inside.host.keyring.accept_for_process(TEST_KEY, "acme", None)
            await test(inside)

    asyncio.run(story())


@pytest.mark.rule("env-41", "env-44")
def test_a_kind_of_a_file(files: str) -> None:
    async def story(inside: InProcessHost) -> None:
        discovery = (await inside.call("GET", "/.well-known/openwop")).document
        assert discovery["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *MEDIA_KINDS, "vendor.acme.plan"]
        assert discovery["schemaVersions"]["vendor.acme.plan"] == 2
        served = await inside.call("GET", "/schemas/envelopes/vendor.acme.plan.schema.json")
        assert served.status == 200
        assert served.document["required"] == ["steps"]
        document = wanting("vendor.acme.plan")
        for version in (1, 2):
            assert result(await ran(inside, document, "vendor.acme.plan", GOOD, version)) == GOOD
        assert result(await ran(inside, document, "vendor.acme.plan", GOOD, 3)) == "envelope_invalid"
        assert result(await ran(inside, document, "vendor.acme.plan", BAD)) == "envelope_invalid"
        assert result(await ran(inside, document, "vendor.acme.plans", GOOD)) == "envelope_contract_violation"

    told(story, envelope_kinds=(files,))


@pytest.mark.rule("env-43")
def test_a_kind_of_a_workflow_is_known_to_that_alone(files: str) -> None:
    own = {"local.plan": {"schema": STEPS}}

    async def story(inside: InProcessHost) -> None:
        assert result(await ran(inside, wanting("local.plan", own=own), "local.plan", GOOD)) == GOOD
        assert result(await ran(inside, wanting("local.plan", own=own), "local.plan", BAD)) == "envelope_invalid"
        elsewhere = wanting("local.plan", "other")
        assert result(await ran(inside, elsewhere, "local.plan", GOOD)) == "unknown_envelope_kind"
        discovery = (await inside.call("GET", "/.well-known/openwop")).document
        assert "local.plan" not in discovery["supportedEnvelopes"]
        served = await inside.call("GET", "/schemas/envelopes/local.plan.schema.json")
        assert served.status == 404
        # One of the host stays what it is in every workflow.
        mine = {"vendor.acme.plan": {"version": 1, "schema": {"required": ["step"]}}}
        refused = await inside.call("POST", "/v1/workflows", wanting("vendor.acme.plan", "mine", mine))
        (why,) = refused.document["details"]["violations"]
        assert (why["pointer"], why["keyword"]) == ("/metadata/envelopeKinds/vendor.acme.plan", "taken")
        same = {"vendor.acme.plan": {"version": 2, "schema": STEPS}}
        assert result(await ran(inside, wanting("vendor.acme.plan", "same", same), "vendor.acme.plan", GOOD)) == GOOD
        theirs = wanting("vendor.acme.plan", "theirs")
        assert result(await ran(inside, theirs, "vendor.acme.plan", BAD)) == "envelope_invalid"

    told(story, envelope_kinds=(files,))


@pytest.mark.rule("env-42")
def test_a_kind_of_a_package_may_be_recursive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its highest version counts, beside that of a file."""
    tree = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#"}}}, "required": ["name"]}
    text = f"import weftwork\ntree = weftwork.EnvelopeKind('vendor.acme.tree', version=2, schema={tree!r})\n"
    (tmp_path / "acme_trees.py").write_text(text)
    file = tmp_path / "vendor.acme.tree.schema.json"
    file.write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)

    async def story(inside: InProcessHost) -> None:
        document = wanting("vendor.acme.tree")
        deep: dict[str, Any] = {"name": "root", "below": [{"name": "a", "below": [{"name": "b"}]}]}
        assert result(await ran(inside, document, "vendor.acme.tree", deep, 2)) == deep
        del deep["below"][0]["below"][0]["name"]
        assert result(await ran(inside, document, "vendor.acme.tree", deep, 2)) == "envelope_invalid"

    told(story, nodes=("acme_trees",), envelope_kinds=(str(file),))


@pytest.mark.rule("env-43")
def test_a_workflow_with_a_wrong_kind_is_refused() -> None:
    async def story(inside: InProcessHost) -> None:
        for own in ({"media.image": {"schema": {}}}, {"local.x": {"schema": {"items": {"$ref": "#"}}}}):
            refused = await inside.call("POST", "/v1/workflows", wanting("local.x", own=own))
            assert refused.status == 400, refused.body
            assert "/metadata/envelopeKinds/" in refused.body.decode()

    told(story)


@pytest.mark.rule("env-42")
def test_kinds_of_the_protocol_are_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the sabotage: without the second guard, whatever gets past the first would replace them."""
    own = KindDefinition("error", 7, {})
    builtin = KindSet({name: KindDefinition(name, 1, STEPS) for name in UNIVERSAL_KINDS})
    assert builtin.with_kinds([own]).find("error") == KindDefinition("error", 1, STEPS)
    monkeypatch.setattr(kinds, "UNIVERSAL_KINDS", ())
    assert builtin.with_kinds([own]).find("error") == own
