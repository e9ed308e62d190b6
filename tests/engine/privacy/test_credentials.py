"""Credentials in what callers send: nodes get them, and no output of the host contains one, also after a crash."""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import node, variable
from tests.live import Host, canary_sabotage, start_host, until
from tests.live.in_process_host import open_in_process
from tests.live.sabotage import sabotaged
from tests.live.workflows import chain, write_workflows
from weftwork.protocol.json import schema
from weftwork.protocol.media.asset_references import find_asset_tokens
from weftwork.protocol.privacy import value_paths

BODY = "Q7w8E9r0T1y2U3i4O5p6A7s8D9f0"
PLACES = (
    *("input", "default", "metadata", "tag", "option", "overwritten", "answer", "vote", "turn", "remark", "note"),
    *("reason", "linked", "member", "port", "voter", "decider", "model"),
)
KEYS = {name: f"sk-{name}-{BODY}" for name in PLACES}
PASSWORD = "correct-horse-battery"
ADDRESS = f"postgres://admin:{PASSWORD}@db.example/runs"
SECRETS = (*KEYS.values(), PASSWORD)
SABOTAGE = Path(canary_sabotage.__file__)
MODES = ("debug", "updates", "values")

NODES = """
import hashlib
import weftwork


@weftwork.node("acme.copies")
def copies(ctx: weftwork.PlainContext, value: str) -> dict:
    return {"sha256": hashlib.sha256(value.encode()).hexdigest(), "copy": f"it is{value}", "again": [value]}


@weftwork.node("acme.name")
def name(ctx: weftwork.PlainContext, table: dict) -> dict:
    ctx.emit("acme.named", table)
    return {"sha256": hashlib.sha256(next(iter(table)).encode()).hexdigest(), "copy": {"again": [table]}}
"""


def copies(node_id: str, **port: Any) -> dict[str, Any]:
    return node(node_id, "acme.copies", inputs={"value": port})


def reads(name: str) -> dict[str, Any]:
    return {"type": "variable", "variableName": name}


def gate(node_id: str, type_id: str, **config: Any) -> dict[str, Any]:
    return node(node_id, f"core.{type_id}", config=config)


CHILD = chain(
    "child",
    [copies("deep", **reads("given")), gate("pause", "interrupt", kind="custom", data={"customKind": "go"})],
    variables=[variable("given")],
)
PARENT = chain(
    "parent",
    [
        copies("first", **reads("note")),
        copies("declared", **reads("fixed")),
        copies("address", **reads("address")),
        copies("option", type="expression", expression="configurable['acme.key']"),
        node("set", "core.setVariable", config={"name": "made"}, inputs={"value": reads("note")}),
        gate("ask", "clarificationGate", questions=[{"id": "q", "question": "Which key?"}]),
        copies("answered", type="expression", expression="nodes.ask.outputs.answers.q"),
        gate("talk", "conversationGate", prompt="And now?"),
        gate("vote", "approvalGate", title="Go on?", actions=["accept", "reject", "ask"], requiredApprovals=2),
        copies("overwritten", **reads("made")),
        gate("sub", "subWorkflow", workflowId="child", inputMapping={"given": "note"}, outputMapping={"back": "given"}),
        copies("back", **reads("back")),
        gate("last", "interrupt", kind="custom", data={"customKind": "go"}),
    ],
    variables=[
        variable("note"),
        variable("address"),
        variable("made"),
        variable("back"),
        variable("fixed", defaultValue=f"the {KEYS['default']}"),
    ],
)
PLAIN = chain(
    "plain",
    [
        copies("first", **reads("note")),
        gate("ask", "clarificationGate", questions=[{"id": "q", "question": "Which key?"}]),
        copies("answered", type="expression", expression="nodes.ask.outputs.answers.q"),
    ],
    variables=[variable("note")],
)
NAMES = chain(
    "names",
    [
        node("ai", "core.ai.callPrompt", config={"prompt": "x"}),
        gate("one", "approvalGate", title="Go on?", actions=["accept", "reject", "ask"]),
        gate("two", "approvalGate", title="Go on?", actions=["accept", "reject"], requiredApprovals=2),
        gate("last", "interrupt", kind="custom", data={"customKind": "go"}),
    ],
)
NOTE = f"use {KEYS['input']} please"


TABLE = chain(
    "table",
    [
        node("all", "core.identity", inputs={"table": reads("table")}),
        node("set", "core.setVariable", config={"name": "made"}, inputs={"value": reads("table")}),
        gate("ask", "interrupt", kind="custom", data={"customKind": "go"}),
        node("name", "acme.name", inputs={"table": reads("made")}),
        gate("last", "interrupt", kind="custom", data={"customKind": "go"}),
    ],
    variables=[variable("table", type="object"), variable("made", type="object")],
)


@contextlib.contextmanager
def serve(folder: Path, program: list[str] | None = None) -> Any:
    (folder / "credential_nodes.py").write_text(NODES, "utf-8")
    flows = write_workflows(folder / "w", PARENT, CHILD, PLAIN, TABLE, NAMES)
    options = ("--test-seams", "--nodes", "credential_nodes", "--workflows", flows)
    with start_host(folder, *options, cwd=folder, program=program) as host:
        yield host


def started(host: Host) -> str:
    run_id = host.create(
        "parent",
        inputs={"note": NOTE, "address": ADDRESS, "other": [{"deep": NOTE}]},
        configurable={"acme.key": KEYS["option"]},
        metadata={"m": KEYS["metadata"]},
        tags=[KEYS["tag"]],
    )
    note = {"signal": {"kind": "label", "label": KEYS["note"]}, "note": NOTE}
    answer = host.call("POST", f"/v1/runs/{run_id}/annotations", note)
    assert answer.status == 201, answer.body
    return run_id


def waits(host: Host, run_id: str, node_id: str) -> None:
    def look() -> bool:
        found = host.snapshot(run_id)
        assert found["status"] not in ("completed", "failed"), found
        return found["status"].startswith("waiting") and found.get("currentNodeId") == node_id

    until(look, f"the run to wait at {node_id}")


def shown(host: Host, run_id: str) -> dict[str, str]:
    """Everything that the host shows of a waiting run."""
    run = f"/v1/runs/{run_id}"
    paths = {
        "snapshot": run,
        "events": f"{run}/events",
        "poll": f"{run}/events/poll?lastSequence=-1&timeout=1",
        "list": "/v1/runs?limit=5",
        "bundle": f"{run}/debug-bundle",
        "diff": f"{run}:diff?against={run_id}",
        "interrupts": f"{run}/interrupts?status=all",
        "inbox": "/v1/host/weftwork/interrupts",
        "annotations": f"{run}/annotations",
        "spans": f"/v1/host/sample/test/otel/spans?runId={run_id}",
        "tree": f"/v1/host/weftwork/runs/{run_id}/tree",
    }
    answers = {surface: host.call("GET", path) for surface, path in paths.items()}
    assert {surface for surface, each in answers.items() if each.status != 200} == set()
    found = {surface: each.body.decode() for surface, each in answers.items()}
    if host.snapshot(run_id)["status"] in ("completed", "cancelled"):
        found |= {mode: host.stream(run_id, f"?streamMode={mode}").finish().decode() for mode in MODES}
    return found


def leaks(found: dict[str, str]) -> list[tuple[str, str]]:
    return [(surface, secret) for surface, body in found.items() for secret in SECRETS if secret in body]


def answer(host: Host, run_id: str, node_id: str, value: Any, link: bool = False) -> None:
    path, key = f"/v1/runs/{run_id}/interrupts/{node_id}", "key-of-acme"
    if link:
        (asked,) = host.call("GET", f"/v1/runs/{run_id}/interrupts").document["interrupts"]
        path = f"/v1/interrupts/{asked['interruptToken']}"
    given = host.call("POST", path, {"resumeValue": value}, key=None if link else key)
    assert given.status == 200, given.body


def digests(host: Host, run_id: str) -> dict[str, str]:
    completed = [each["payload"] for each in host.log(run_id) if each["type"] == "node.completed"]
    return {each["nodeId"]: each["outputs"]["sha256"] for each in completed if "sha256" in each["outputs"]}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.slow
@pytest.mark.rule("hide-09")
def test_a_credential_reaches_the_nodes_and_is_shown_nowhere(tmp_path: Path) -> None:
    with serve(tmp_path) as host:
        run_id = started(host)
        waits(host, run_id, "ask")
        assert leaks(shown(host, run_id)) == []
        host.kill()
    with serve(tmp_path) as host:
        assert leaks(shown(host, run_id)) == []
        answer(host, run_id, "ask", {"answers": {"q": KEYS["answer"]}})
        waits(host, run_id, "talk")
        answer(host, run_id, "talk", f"say {KEYS['turn']}", link=True)
        waits(host, run_id, "vote")
        answer(host, run_id, "vote", {"action": "ask", "question": KEYS["remark"], "decidedBy": "ann"})
        answer(host, run_id, "vote", {"action": "accept", "comment": KEYS["vote"], "decidedBy": "ann"})
        overwritten = {"variables": {"made": KEYS["overwritten"]}}
        given = host.call("POST", f"/v1/host/sample/test/runs/{run_id}/variables", overwritten)
        assert given.status == 200, given.body
        assert leaks(shown(host, run_id)) == []
        host.kill()
    with serve(tmp_path) as host:
        answer(host, run_id, "vote", {"action": "accept", "comment": KEYS["linked"], "decidedBy": "bob"})
        (child,) = until(lambda: host.snapshot(run_id).get("childRuns"), "the child run")
        waits(host, child["runId"], "pause")
        assert leaks(shown(host, child["runId"])) == []
        answer(host, child["runId"], "pause", "go")
        waits(host, run_id, "last")
        cancelled = host.call("POST", f"/v1/runs/{run_id}/cancel", {"reason": f"because of {KEYS['reason']}"})
        assert cancelled.status == 200, cancelled.body
        events = host.log(run_id)
        for event in events:
            assert schema.check_payload(event["type"], event["payload"]) == [], event
        assert leaks(shown(host, run_id)) == []
        assert digests(host, child["runId"]) == {"deep": sha256(NOTE)}
        expected = {
            "first": NOTE,
            "declared": f"the {KEYS['default']}",
            "address": ADDRESS,
            "option": KEYS["option"],
            "answered": KEYS["answer"],
            "overwritten": KEYS["overwritten"],
            "back": NOTE,
        }
        assert digests(host, run_id) == {name: sha256(text) for name, text in expected.items()}
        assert "use [REDACTED:credential] please" in json.dumps(events)
        assert host.pages(f"/v1/runs?tag={KEYS['tag']}", "runs")[0]["tags"] == ["[REDACTED:credential]"]


@pytest.mark.parametrize("sabotage", ["", "ignore_credentials_in_inputs", "ignore_credentials_in_answers"])
def test_on_a_host_that_does_not_look_for_credentials_they_are_seen(tmp_path: Path, sabotage: str) -> None:
    with serve(tmp_path, sabotaged(SABOTAGE, sabotage) if sabotage else None) as host:
        run_id = host.create("plain", inputs={"note": "none" if "answers" in sabotage else NOTE})
        waits(host, run_id, "ask")
        answer(host, run_id, "ask", {"answers": {"q": "none" if "inputs" in sabotage else KEYS["answer"]}})
        assert digests(host, run_id).keys() == {"first", "answered"}
        seen = {surface for surface, _ in leaks(shown(host, run_id))}
        assert seen >= {"events", "poll", *MODES} if sabotage else seen == set()


@pytest.mark.rule("hide-08", "hide-09")
@fails_without("weftwork.engine.run.append.hidden_urls", lambda *_: [])
async def test_a_parent_does_not_show_the_url_of_media_in_which_its_child_wrote_a_credential() -> None:
    shows = node("shows", "core.media.emit", config={"kind": "file", "text": "key {{variables.note}}", "alt": "A key"})
    child = chain("child", [shows], variables=[variable("note")])
    body = {"workflowId": "child", "inputs": {"note": {"type": "expression", "expression": "item"}}}
    items = {"items": {"type": "expression", "expression": "[variables.note]"}}
    each = node("each", "core.flow.map", config={"body": body}, inputs=items)
    async with open_in_process(child, chain("parent", [each], variables=[variable("note")])) as host:
        events = await host.run_log("parent", inputs={"note": "sk-abcdefghij0123456789"})
    assert "/[REDACTED:media]" in f"{events[-1]['payload']['outputs']}"
    assert find_asset_tokens(f"{events}") == []


@pytest.mark.slow
@pytest.mark.rule("hide-09")
def test_a_credential_that_is_a_member_name_reaches_the_nodes_and_is_shown_nowhere(tmp_path: Path) -> None:
    with serve(tmp_path) as host:
        run_id = host.create("table", inputs={"table": {KEYS["member"]: 1}, KEYS["port"]: 2})
        waits(host, run_id, "ask")
        assert leaks(shown(host, run_id)) == []
        host.kill()
    with serve(tmp_path) as host:
        answer(host, run_id, "ask", {"given": {KEYS["answer"]: True}})
        waits(host, run_id, "last")
        assert leaks(shown(host, run_id)) == []
        answer(host, run_id, "last", {KEYS["linked"]: "go"}, link=True)
        until(lambda: host.snapshot(run_id)["status"] == "completed", "the end of the run")
        assert leaks(shown(host, run_id)) == []
        for event in host.log(run_id):
            assert schema.check_payload(event["type"], event["payload"]) == [], event
        assert digests(host, run_id) == {"name": sha256(KEYS["member"])}
        (named,) = [event["payload"] for event in host.log(run_id) if event["type"] == "acme.named"]
        assert named == {"redacted": "[REDACTED:credential]"}


@pytest.mark.slow
@pytest.mark.rule("hide-09")
def test_a_credential_that_names_a_person_or_a_model_is_shown_nowhere(tmp_path: Path) -> None:
    with serve(tmp_path) as host:
        run_id = host.create("names", configurable={"model": KEYS["model"]})
        waits(host, run_id, "one")
        answer(host, run_id, "one", {"action": "ask", "question": "Why?", "decidedBy": KEYS["voter"]})
        answer(host, run_id, "one", {"action": "accept", "decidedBy": KEYS["decider"]})
        waits(host, run_id, "two")
        answer(host, run_id, "two", {"action": "accept", "decidedBy": KEYS["voter"]})
        assert leaks(shown(host, run_id)) == []
        host.kill()
    with serve(tmp_path) as host:
        answer(host, run_id, "two", {"action": "accept", "decidedBy": KEYS["voter"]})
        assert host.snapshot(run_id)["currentNodeId"] == "two"
        answer(host, run_id, "two", {"action": "accept", "decidedBy": KEYS["decider"]})
        waits(host, run_id, "last")
        answer(host, run_id, "last", "go")
        for event in host.log(run_id):
            assert schema.check_payload(event["type"], event["payload"]) == [], event
        assert leaks(shown(host, run_id)) == []


UNNAMED = value_paths.VALUE_MEMBERS | {
    kind: value_paths.MADE_MEMBERS.get(kind, ()) for kind in ("approval.granted", "approval.received")
}


@pytest.mark.rule("hide-09")
@fails_without(value_paths, "VALUE_MEMBERS", UNNAMED)
@fails_without("weftwork.engine.run.state_rows._redact", lambda redactor, value: value)
async def test_a_name_is_masked_in_events_and_interrupts_and_votes_are_counted_by_it() -> None:
    gates = [
        chain(
            f"gate-{count}", [gate("gate", "approvalGate", title="Go on?", actions=["accept"], requiredApprovals=count)]
        )
        for count in (1, 2)
    ]
    async with open_in_process(*gates) as host:
        for count, names in ((1, ["decider"]), (2, ["voter", "voter", "decider"])):
            created = await host.call("POST", "/v1/runs", {"workflowId": f"gate-{count}"})
            run = f"/v1/runs/{created.document['runId']}"
            for name in names:
                body = {"resumeValue": {"action": "accept", "decidedBy": KEYS[name]}}
                answered = await host.call("POST", f"{run}/interrupts/gate", body)
                assert (answered.document["status"] == "waiting-approval") is (name == "voter")
                paths = (f"{run}/events/poll?lastSequence=-1&timeout=1", run, f"{run}/interrupts?status=all")
                assert leaks({path: (await host.call("GET", path)).body.decode() for path in paths}) == []
