"""Questions and media of nodes that have read a sensitive value: a person can read and answer them, and the value is
in nothing that the host shows."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.harness.definitions import node, variable
from tests.live import Host, canary_sabotage, start_host, until
from tests.live.sabotage import sabotaged
from tests.live.workflows import chain, write_workflows
from weftwork.protocol.json import schema

SEAM = "/v1/host/sample/test/mock-ai/program"
SECRETS: dict[str, Any] = {"pw": "kestrel-4711", "pin": 907, "card": {"holder-of-it": [5105105100]}}
WORDS = ("kestrel-4711", "pin 907", '"pin":907', "5105105100", "holder-of-it")
VARIABLES = [
    variable("pw", sensitive=True),
    variable("pin", "number", sensitive=True),
    variable("card", "object", sensitive=True),
]
READS = {name: {"type": "variable", "variableName": name} for name in SECRETS}
TEXT = "Does kestrel-4711 (pin 907, card 5105105100) belong to the account in Berlin?"
RIGHT = "Does {{variables.pw}} (pin {{variables.pin}}) belong to the account in Berlin?"
KEPT = "belong to the account in Berlin?"
ASKS = {"type": "clarification.request", "payload": {"questions": [{"id": "q", "question": TEXT}]}}
SABOTAGE = Path(canary_sabotage.__file__)
DONE = {"type": "vendor.example.ticket", "payload": {"title": "Done"}}

NODES = """
import weftwork

PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")
TEXT = "Does {} (pin {}, card {}) belong to the account in Berlin?"


@weftwork.node("acme.asks")
async def asks(ctx: weftwork.Context, pw: str, pin: float, card: dict) -> dict:
    await ctx.emit_image(PNG, alt=f"Of {pw}", inline=True)
    await ctx.emit_image(PNG + b"2", alt="By URL")
    text = TEXT.format(pw, int(pin), card["holder-of-it"][0])
    await ctx.clarify("ask", {"q": text})
    return {"pw": pw}


@weftwork.node("acme.approves")
async def approves(ctx: weftwork.Context, pw: str, pin: float, card: dict) -> dict:
    await ctx.approve("ask", TEXT.format(pw, int(pin), card["holder-of-it"][0]))
    return {"pw": pw}


@weftwork.node("acme.other")
def other(ctx: weftwork.PlainContext, pw: str, pin: float, card: dict) -> dict:
    ctx.interrupt("ask", {"text": TEXT.format(pw, int(pin), card["holder-of-it"][0]), "card": card, "pin": int(pin)})
    return {"pw": pw}


@weftwork.node("acme.mute")
def mute(ctx: weftwork.PlainContext, pw: str) -> dict:
    ctx.clarify("ask", {"q": f"{pw}?"})
    return {}
"""


def flow(workflow_id: str, type_id: str, **config: Any) -> dict[str, Any]:
    more: dict[str, Any] = {"config": config} if config else {}
    if type_id.startswith("core.ai."):
        config |= {"prompt": RIGHT} if "envelopeType" not in config else {"userMessage": RIGHT}
    reads = {"pw": READS["pw"]} if type_id == "acme.mute" else READS
    inputs = reads if type_id.startswith("acme.") else {}
    kinds = {"envelopeKinds": {DONE["type"]: {"schema": {}}}}
    return chain(workflow_id, [node(workflow_id, type_id, inputs=inputs, **more)], variables=VARIABLES, metadata=kinds)


ANSWERS: dict[str, Any] = {
    "model": {"answers": {"q": "yes"}},
    "clarifies": {"answers": {"q": "yes"}},
    "approves": {"action": "accept"},
    "other": "yes",
    "gate": {"action": "accept"},
    "questions": {"answers": {"q": "yes"}},
    "talks": "yes",
}
WORKFLOWS = (
    flow("model", "core.ai.generateEnvelope", envelopeType=DONE["type"]),
    flow("clarifies", "acme.asks"),
    flow("approves", "acme.approves"),
    flow("other", "acme.other"),
    flow("gate", "core.approvalGate", title=RIGHT, actions=["accept", "reject"]),
    flow("questions", "core.clarificationGate", questions=[{"id": "q", "question": RIGHT}]),
    flow("talks", "core.conversationGate", title=RIGHT, initialPrompt=RIGHT, prompt=RIGHT),
    flow("mute", "acme.mute"),
    flow("mute-gate", "core.approvalGate", title="{{variables.pw}}", actions=["accept"]),
    flow("mute-model", "core.ai.generateEnvelope", envelopeType=DONE["type"]),
    flow("chooses", "core.ai.structuredOutput", outputSchema={"type": "object"}),
)


def serve(folder: Path, program: list[str] | None = None) -> Any:
    (folder / "secret_nodes.py").write_text(NODES, "utf-8")
    workflows = write_workflows(folder / "w", *WORKFLOWS)
    return start_host(
        folder, "--test-seams", "--nodes", "secret_nodes", "--workflows", workflows, cwd=folder, program=program
    )


def started(host: Host, name: str, schema: Any = None) -> str:
    """A run whose model asks a question, and then sends what it was asked for."""
    asks = (
        ASKS
        if schema is None
        else {**ASKS, "payload": {"questions": [{"id": "q", "question": KEPT, "schema": schema}]}}
    )
    program = [{"mode": "envelope", "envelope": each} for each in (asks, DONE)]
    if name == "mute-model":
        program[0]["envelope"] = {"type": ASKS["type"], "payload": {"questions": [{"id": "q", "question": "907!"}]}}
    assert host.call("POST", SEAM, {"nodeId": name, "program": program}).status == 200
    return host.create(name, inputs=SECRETS)


def waits(host: Host, run_id: str) -> None:
    until(lambda: host.snapshot(run_id)["status"].startswith("waiting"), "the run to wait")


def shown(host: Host, run_id: str) -> dict[str, str]:
    """What the host shows of a waiting run."""
    run = f"/v1/runs/{run_id}"
    inbox = host.call("GET", f"/v1/host/weftwork/interrupts?runId={run_id}")
    link = f"/v1/interrupts/{inbox.document['interrupts'][0]['interruptToken']}"
    bodies = {
        "inbox": inbox.body,
        "snapshot": host.call("GET", run).body,
        "events": host.call("GET", f"{run}/events").body,
        "questions": host.call("GET", f"{run}/interrupts?status=all").body,
        "question": host.call("GET", link, key=None).body,
        "page": host.call("GET", link, key=None, headers={"Accept": "text/html"}).body,
        "bundle": host.call("GET", f"{run}/debug-bundle").body,
    }
    return {surface: body.decode() for surface, body in bodies.items()}


def leaks(found: dict[str, str]) -> set[str]:
    return {word for body in found.values() for word in WORDS if word in body}


@pytest.mark.rule("hide-07")
def test_a_question_about_a_secret_can_be_read_and_answered_also_after_a_crash(tmp_path: Path) -> None:
    with serve(tmp_path) as host:
        runs = {name: started(host, name) for name in ANSWERS}
        for name, run_id in runs.items():
            waits(host, run_id)
            found = shown(host, run_id)
            assert leaks(found) == set(), name
            assert [at for at in found if KEPT not in found[at] or "[REDACTED:pw]" not in found[at]] == [], name
        host.kill()
    with serve(tmp_path) as host:
        for name, run_id in runs.items():
            found = shown(host, run_id)
            assert [at for at in found if KEPT not in found[at]] == [], name
            program = [{"mode": "envelope", "envelope": DONE}]
            assert host.call("POST", SEAM, {"nodeId": name, "program": program}).status == 200
            answer = host.call("POST", f"/v1/runs/{run_id}/interrupts/{name}", {"resumeValue": ANSWERS[name]})
            assert answer.status == 200, answer.body
            events = host.log(run_id)
            assert events[-1]["type"] == "run.completed", events[-1]
            assert leaks({"events": json.dumps(events)}) == set(), name
            for event in events:
                assert schema.check_payload(event["type"], event["payload"]) == [], event


@pytest.mark.rule("hide-07")
def test_a_node_whose_question_is_nothing_but_the_secret_fails(tmp_path: Path) -> None:
    with serve(tmp_path) as host:
        for name in ("mute", "mute-gate", "mute-model"):
            events = host.log(started(host, name))
            assert events[-1]["type"] == "run.failed", name
            assert events[-1]["payload"]["error"]["code"] == "question_hidden", name
            assert leaks({"events": json.dumps(events)}) == set(), name


CHOICES: tuple[tuple[Any, bool], ...] = (
    ({"enum": ["kestrel-4711"]}, False),
    ({"const": 907}, False),
    ({"enum": [{"name": "kestrel-4711"}, [907]]}, False),
    ({"enum": ["kestrel-4711", "another"]}, True),
    ({"type": "string"}, True),
)


@pytest.mark.rule("hide-07")
def test_a_question_all_of_whose_choices_are_hidden_fails_its_node(tmp_path: Path) -> None:
    with serve(tmp_path) as host:
        for schema_of_answer, is_asked in CHOICES:
            run_id = started(host, "chooses", schema_of_answer)
            if is_asked:
                waits(host, run_id)
                assert leaks(shown(host, run_id)) == set()
                value = {"resumeValue": {"answers": {"q": "another"}}}
                assert host.call("POST", f"/v1/runs/{run_id}/interrupts/chooses", value).status == 200
            end = host.log(run_id)[-1]
            assert end["type"] == ("run.completed" if is_asked else "run.failed"), schema_of_answer
            assert is_asked or end["payload"]["error"]["code"] == "question_hidden"


@pytest.mark.rule("hide-08")
def test_media_of_a_node_that_read_a_secret_can_be_decoded(tmp_path: Path) -> None:
    with serve(tmp_path) as host:
        run_id = started(host, "clarifies")
        waits(host, run_id)
        events = json.loads(shown(host, run_id)["events"])["events"]
        inline, linked = [each["payload"] for each in events if each["type"] == "media.image"]
        assert (inline["mimeType"], linked["mimeType"]) == ("image/png", "image/png")
        png = b64decode(inline["base64"], validate=True)
        assert png.startswith(b"\x89PNG")
        assert host.call("GET", urlsplit(linked["url"]).path, key=None).body == png + b"2"
        assert "kestrel" not in inline["alt"]


@pytest.mark.parametrize(
    ("sabotage", "name"), [("hide_questions_whole", "questions"), ("cut_long_texts_only", "other")]
)
def test_on_a_host_without_the_rule_it_would_be_seen(tmp_path: Path, sabotage: str, name: str) -> None:
    with serve(tmp_path, sabotaged(SABOTAGE, sabotage)) as host:
        run_id = started(host, name)
        if sabotage == "hide_questions_whole":
            assert host.log(run_id)[-1]["payload"]["error"]["code"] == "question_hidden"
        else:
            waits(host, run_id)
            assert leaks(shown(host, run_id)) == {"pin 907", '"pin":907', "5105105100", "holder-of-it"}
