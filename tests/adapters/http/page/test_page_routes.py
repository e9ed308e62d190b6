"""The page through HTTP: surfaces, receipts, and what a link shows after its question is closed."""

import tempfile
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.adapters.http.page.page_tree import Element, parse
from tests.adapters.http.page.sample_surfaces import GATE_FORM, button, surface_payload
from tests.harness.cases import fails_without
from tests.harness.definitions import node
from tests.live import Host, InProcessHost, open_in_process
from tests.live.steering import answer_over_http, cancel, flow, interrupt_node, payloads, register
from tests.live.tokens import ACCEPT, approval_node, approval_workflow, created_link
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.host import catalog
from weftwork.engine.run import state_rows
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.people import approvals
from weftwork.protocol.surfaces.actions import BoundSurface

FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
HTML = {"Accept": "text/html"}
WHO = {"component": "field.text", "id": "who", "label": "Who travels?", "required": True}
TRIP = surface_payload(WHO, button("book", "Book the journey"))["surface"]


def text_of(body: bytes) -> str:
    return parse(body).text


def view(host: Host, path: str) -> tuple[int, str]:
    answer = host.call("GET", path, key=None, headers=HTML)
    return answer.status, text_of(answer.body)


def post(host: Host, path: str, **fields: str) -> tuple[int, str]:
    answer = host.call("POST", path, key=None, headers=FORM, body=urlencode(fields).encode())
    return answer.status, text_of(answer.body)


def trip(workflow_id: str) -> dict[str, Any]:
    asks = {**node("ask", "core.ui.surface", config={"surface": TRIP}), "name": "Plan the trip"}
    return {**flow(workflow_id, [asks]), "name": "Travel desk"}


@pytest.mark.rule("surf-65", "surf-67")
def test_a_surface_by_link_from_the_question_to_the_outcome(host: Host) -> None:
    run_id = host.create(register(host, trip("page-trip")))
    path = created_link(host, run_id, {"for": "Ann"}, node_id="ask")["path"]
    status, text = view(host, path)
    assert status == 200
    for words in ("From Plan the trip, in the workflow Travel desk", "A trip to Oslo", "Who travels?", "Ann"):
        assert words in text
    assert "ui.a2ui-surface" not in text
    assert "env-" not in text
    status, text = post(host, path, press="book", s0=" ")
    assert (status, "This field must be filled in." in text) == (400, True)
    assert payloads(host, run_id, "interrupt.resolved") == []
    status, text = post(host, path, press="book", s0="Ada", action="sell", who="Eve", more="1")
    assert status == 200
    recorded = "Your answer was recorded", "The button “Book the journey”", "Ann (you)", "What happens next"
    for words in (*recorded, "It was about: A trip to Oslo"):
        assert words in text
    (resolved,) = payloads(host, run_id, "interrupt.resolved")
    assert resolved["resumeValue"] == {"who": "Ada", "action": "book"}
    for visited in (view(host, path), post(host, path, press="book", s0="Eve")):
        assert visited[0] == 409
        assert "You have answered this" in visited[1]
        assert "Ann (you)" in visited[1]
    assert len(payloads(host, run_id, "interrupt.resolved")) == 1


def test_a_link_shows_how_its_question_ended(host: Host) -> None:
    run_id = host.create(register(host, approval_workflow("page-ended")))
    path = created_link(host, run_id)["path"]
    assert answer_over_http(host, run_id, "gate", ACCEPT).status == 200
    status, text = view(host, path)
    assert status == 409
    for words in ("Approved", "just now", "The run is now complete."):
        assert words in text
    run_id = host.create("page-ended")
    path = created_link(host, run_id, {"for": "Ann"})["path"]
    cancel(host, run_id)
    status, text = view(host, path)
    assert status == 409
    assert "This question was withdrawn" in text
    assert "It was asked by" in text


def test_a_quorum_is_told_by_names(host: Host) -> None:
    gate = approval_node(approversList=["Ann", "Ben"], requiredApprovals=2)
    run_id = host.create(register(host, flow("page-quorum", [gate])))
    paths = {name: created_link(host, run_id, {"for": name})["path"] for name in ("Ann", "Ben")}
    _, text = post(host, paths["Ann"], action="accept")
    for words in ("Your vote: approve", "1 of 2 approvals", "Ann approved.", "still waiting for an approval"):
        assert words in text
    assert "Ann approved." in view(host, paths["Ben"])[1]
    _, text = post(host, paths["Ben"], action="accept")
    assert "Ann and Ben approved." in text
    _, text = view(host, paths["Ann"])
    for words in ("You have answered this", "2 of 2 approvals", "Ann and Ben approved."):
        assert words in text


def test_a_node_without_a_name_has_its_id(host: Host) -> None:
    asks = interrupt_node("ask")
    run_id = host.create(register(host, flow("page-names", [asks])))
    _, text = view(host, created_link(host, run_id, node_id="ask")["path"])
    assert f"From {asks.get('name', 'ask')}, in the workflow page-names" in text
    cancel(host, run_id)


BILL = {"supplier": "Ada", "netAmount": 12, "dueDate": "2026-12-01", "lines": [{"item": "Table", "count": 2}]}
READ = ["Supplier", "Net amount", "Due date", "Lines", "Item", "Count"]
ASKED = {"type": "object", "properties": {each: {"type": "string"} for each in ("who", "day", "amount")}}


@fails_without(state_rows, "encode_recorded", encode_stored)
@fails_without(catalog, "encode_recorded", encode_stored)
async def test_values_and_fields_are_in_the_order_of_their_author() -> None:
    gate = {**approval_node(), "inputs": {"artifactData": {"type": "variable", "variableName": "bill"}}}
    bill = [{"name": "bill", "type": "object", "required": True}]
    with tempfile.TemporaryDirectory() as folder:
        async with open_in_process(store="sqlite", data=folder) as inside:
            for document in ({**flow("page-order", [gate]), "variables": bill}, flow("page-fields", [form_node()])):
                assert (await inside.call("POST", "/v1/workflows", document)).status == 201
        # Another host reads the definitions from the store.
        async with open_in_process(store="sqlite", data=folder) as inside:
            page = await page_of(inside, "page-order", bill=BILL)
            assert [each.text for each in page.named("dt")][: len(READ)] == READ
            page = await page_of(inside, "page-fields")
            assert [each.text.split()[1] for each in page.named("label")] == ["Who", "Day", "Amount"]


def form_node() -> dict[str, Any]:
    return node(
        "ask",
        "core.interrupt",
        config={"kind": "custom", "data": {"customKind": "report", "payload": {}}, "resumeSchema": ASKED},
    )


async def page_of(inside: InProcessHost, workflow_id: str, **inputs: Any) -> Element:
    made = await inside.call("POST", "/v1/runs", {"workflowId": workflow_id, "inputs": inputs})
    run = await inside.call("GET", f"/v1/runs/{made.document['runId']}")
    shown = await inside.call(
        "GET", f"/v1/interrupts/{run.document['interrupt']['interruptToken']}", headers={"accept": "text/html"}
    )
    return parse(shown.body)


@pytest.mark.rule("surf-05", "appr-05")
@fails_without(approvals, "blocks_approval", lambda *_: False)
async def test_the_engine_refuses_an_untrusted_surface_by_itself() -> None:
    """The page says what a person chose from, so the engine knows it even if the page did not block the form."""
    shown = Interrupts.question
    surface = {"envelopeId": "env-1", "contentTrust": "untrusted", "payload": GATE_FORM}
    async with open_in_process(approval_workflow("page-untrusted")) as inside:
        made = await inside.call("POST", "/v1/runs", {"workflowId": "page-untrusted"})
        run = await inside.call("GET", f"/v1/runs/{made.document['runId']}")
        path = f"/v1/interrupts/{run.document['interrupt']['interruptToken']}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Interrupts, "question", lambda *given: {**shown(*given), "surface": surface})
            patch.setattr(BoundSurface, "blocked_reason", property(lambda self: None))
            headers = {name.lower(): value for name, value in FORM.items()}
            refused = await inside.call("POST", path, b"press=accept", headers=headers)
        assert refused.status == 403, refused.body
        still = await inside.call("GET", f"/v1/runs/{made.document['runId']}")
        assert still.document["status"] == "waiting-approval"
